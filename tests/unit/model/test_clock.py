"""Times that come as text, and the range of timestamps."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.model.clock import EARLIEST, LATEST, check_timestamp, parse_time
from remembrancer.model.errors import InvalidField

UNDERSTOOD = {
    "2024-03-10T10:00:00+09:00": "2024-03-10T01:00:00Z",
    "2024-03-10T02:00:00Z": "2024-03-10T02:00:00Z",
    "2024-03-10t02:00:00z": "2024-03-10T02:00:00Z",
    "2024-03-10T02:00:00": "2024-03-10T02:00:00Z",
    "2024-03-10 02:00": "2024-03-10T02:00:00Z",
    "2024-03-10": "2024-03-10T00:00:00Z",
    "20240310": "2024-03-10T00:00:00Z",
    "20240310T020000Z": "2024-03-10T02:00:00Z",
    "2024-W10-7": "2024-03-10T00:00:00Z",
    " 2024-03-10T02:00:00.123456789Z ": "2024-03-10T02:00:00.123456789Z",
    "2024-03-10T02:00:00,5-0500": "2024-03-10T07:00:00.500Z",
    "2016-12-31T23:59:60Z": "2017-01-01T00:00:00Z",
    "2024-03-10T24:00:00Z": "2024-03-11T00:00:00Z",
    "2024-03-10T02:30:00-05:00": "2024-03-10T07:30:00Z",  # in the gap of New York's change to summer time
    "0001-01-01": "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z": "9999-12-31T23:59:59Z",
}


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_e1_e6_a_time_in_text(text: str) -> None:
    stamp = parse_time(text)
    assert stamp is not None
    assert stamp.ToJsonString() == UNDERSTOOD[text]


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "yesterday", "0000-01-01", "0000-01-01T00:00:00Z", "1714554000", "1714554000000", "2024-13-01",
        "2024-03-10T24:00:01Z", "2024-03-10T25:00Z", "0001-01-01T00:00:00+09:00", "9999-12-31T23:59:59-05:00",
        "2024-03-10T02:00:00Z and more", "x" * 10_000,
    ],
)  # fmt: skip
def test_e3_e7_p23_what_is_no_time(text: str) -> None:
    assert parse_time(text) is None


@pytest.mark.parametrize("seconds", [EARLIEST, 0, LATEST])
def test_e7_the_ends_of_the_range_are_accepted_with_their_nanoseconds(seconds: int) -> None:
    stamp = Timestamp(seconds=seconds, nanos=999_999_999)
    assert check_timestamp("t", stamp).nanos == 999_999_999


@pytest.mark.parametrize("stamp", [Timestamp(seconds=EARLIEST - 1), Timestamp(seconds=LATEST + 1), Timestamp(nanos=-1)])
def test_e7_beyond_the_range_is_refused_by_name(stamp: Timestamp) -> None:
    with pytest.raises(InvalidField) as refused:
        check_timestamp("as_of", stamp)
    assert refused.value.violations[0].field == "as_of"
