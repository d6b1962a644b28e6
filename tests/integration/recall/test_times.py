"""Times: what is stored, what recency and relative dates are read against, what the timeline says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.client import Client, InvalidArgument, memory, tenant, turn
from remembrancer.v1 import common_pb2
from tests.service import hits, unreadable

MODES = pytest.mark.parametrize("mode", ["active", "deep"])


@pytest.fixture
def org(scope: str) -> common_pb2.Scope:
    """The stateless form of a scope that no other test writes to."""
    return tenant(scope)


def test_e1_e6_s28_times_with_and_without_offset_survive_and_are_ordered(client: Client, org: common_pb2.Scope) -> None:
    given = {
        "A": "2024-03-10T10:00:00+09:00",  # 01:00Z
        "B": "2024-03-10T02:00:00Z",
        "C": "2024-03-10T02:30:00-05:00",  # in a gap of summer time
        "D": "2016-12-31T23:59:60Z",
        "E": "2024-03-10T02:00:00.123456789Z",
        "F": "2024-03-10",
    }
    client.record_turns([turn(f"The boat {name} sails.", timestamp=time) for name, time in given.items()], scope=org)
    answer = client.recall("the boat sails", scope=org, include_timeline=True)
    assert [line[line.index("boat ") + 5] for line in answer.timeline.splitlines()] == ["D", "F", "A", "B", "E", "C"]
    times = {hit.content[9]: hit.occurred_at for hit in answer.hits.turns}
    assert times["A"].ToJsonString() == "2024-03-10T01:00:00Z"
    assert times["E"].nanos == 123_456_789
    assert not any(hit.time_uncertain for hit in answer.hits.turns)
    assert all(evidence.occurred_at != evidence.recorded_at for evidence in answer.evidence)
    assert {evidence.evidence_id: evidence.occurred_at for evidence in answer.evidence} == {
        hit.memory_id: hit.occurred_at for hit in answer.hits.turns
    }


@MODES
@pytest.mark.parametrize("time", ["", "yesterday", "0000-01-01", "1714554000", "2024-02-31"])
def test_e3_a_time_that_is_not_understood_never_outranks_an_equal_dated_match(
    client: Client, org: common_pb2.Scope, time: str, mode: str
) -> None:
    uncertain, dated = "the kiln was fired again", "The kiln was fired AGAIN"
    old = datetime(1999, 1, 1, tzinfo=UTC)
    client.record_turns([turn(uncertain, timestamp=time)], scope=org, axes={"conversation_id": "1"})
    client.record_turns([turn(dated, timestamp=old)], scope=org, axes={"conversation_id": "2"})
    for query in ("when was the kiln fired?", "kiln", "the kiln was fired again"):
        answer = client.recall(query, scope=org, mode=mode, include_timeline=True)
        assert [(hit.content, hit.time_uncertain) for hit in hits(answer)] == [(dated, False), (uncertain, True)]
        assert [("uncertain" in line) for line in answer.timeline.splitlines()] == [False, True]


@MODES
def test_e4_recency_is_read_against_as_of(client: Client, org: common_pb2.Scope, mode: str) -> None:
    for year, month in ((2019, 12), (2025, 6), (2010, 1)):
        moment = datetime(year, month, 1, tzinfo=UTC)
        painted = turn("The lamp post was painted.", timestamp=moment)
        client.record_turns([painted], scope=org, axes={"conversation_id": f"in {year}"})

    def order(as_of: datetime) -> list[int]:
        answer = client.recall("painted lamp post", scope=org, mode=mode, as_of=as_of)
        # P4: what is first does not depend on how many are wanted.
        (first,) = hits(client.recall("painted lamp post", scope=org, mode=mode, as_of=as_of, top_k=1))
        assert first == hits(answer)[0]
        assert answer.as_of.ToDatetime(UTC) == as_of
        # Later records are not hidden.
        assert len(hits(answer)) == 3
        return [hit.occurred_at.ToDatetime().year for hit in hits(answer)]

    assert order(datetime(2020, 1, 1, tzinfo=UTC))[0] == 2019
    assert order(datetime(2025, 7, 1, tzinfo=UTC))[0] == 2025
    assert order(datetime(2010, 2, 1, tzinfo=UTC))[0] == 2010
    now = client.recall("painted lamp post", scope=org, mode=mode)
    assert abs(now.as_of.ToDatetime(UTC) - datetime.now(UTC)) < timedelta(minutes=5)


NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)  # a Wednesday

NAMED = {
    "what did we repair yesterday?": NOW - timedelta(days=1),
    "what did we repair last week?": NOW - timedelta(days=7),
    "what did we repair two weeks ago?": NOW - timedelta(days=14),
    "what did we repair the week before last?": NOW - timedelta(days=14),
    "what did we repair in May 2023?": datetime(2023, 5, 20, tzinfo=UTC),
    "what did we repair last summer?": datetime(2023, 7, 3, tzinfo=UTC),
    "what did we repair on 2022-11-05?": datetime(2022, 11, 5, 8, tzinfo=UTC),
}


@pytest.fixture(scope="module")
def repairs(client: Client) -> common_pb2.Scope:
    """A scope with a repair on each of the days asked about; what was repaired says nothing about the day."""
    workshop = tenant("workshop")
    things = ["pump", "gate", "sail", "clock", "stove", "wheel", "crane"]
    client.remember(
        [
            memory("fact", f"We repaired the {thing}.", occurred_at=moment)
            for thing, moment in zip(things, NAMED.values(), strict=True)
        ],
        scope=workshop,
    )
    return workshop


@MODES
@pytest.mark.parametrize("query", NAMED)
def test_a_date_in_the_query_favours_memories_of_that_time(
    client: Client, repairs: common_pb2.Scope, query: str, mode: str
) -> None:
    answer = client.recall(query, scope=repairs, mode=mode, as_of=NOW)
    asked = NAMED[query]
    best = hits(answer)[0].occurred_at.ToDatetime(UTC)
    assert abs(best - asked) < timedelta(days=1)
    # A side signal: everything else is there, too.
    assert len(hits(answer)) == len(NAMED)


def test_a_relative_date_is_read_against_as_of(client: Client, repairs: common_pb2.Scope) -> None:
    query = "what did we repair yesterday?"
    for day in (datetime(2022, 11, 6, tzinfo=UTC), datetime(2023, 7, 4, tzinfo=UTC)):
        best = hits(client.recall(query, scope=repairs, as_of=day))[0]
        assert best.occurred_at.ToDatetime(UTC).date() == (day - timedelta(days=1)).date()


@pytest.mark.parametrize(
    "query",
    [
        "十万年前",
        "3000 years ago",
        "in 99999 years",
        "100,000 years ago",
        "repairs 2023-13-45",
        "on 31 February",
        "9" * 4000 + " days ago",
    ],
)
@pytest.mark.parametrize("as_of", [None, datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)])
def test_d12_absurd_dates_are_ignored(
    client: Client, repairs: common_pb2.Scope, query: str, as_of: datetime | None
) -> None:
    for text in (query, f"what did we repair {query}?"[-4096:]):
        answer = client.recall(text, scope=repairs, mode="deep", as_of=as_of, timeout=30)
        if not unreadable(answer):
            assert len(hits(answer)) == len(NAMED)


def test_e7_timestamps_of_the_whole_range_are_accepted_and_beyond_it_refused(
    client: Client, org: common_pb2.Scope
) -> None:
    ends = [Timestamp(seconds=-62135596800), Timestamp(seconds=253402300799, nanos=999_999_999)]
    client.remember([memory("fact", f"End {n}.", occurred_at=end) for n, end in enumerate(ends)], scope=org)
    answer = client.recall(
        "end", scope=org, include_timeline=True, as_of=ends[1], occurred_after=ends[0], occurred_before=ends[1]
    )
    assert {hit.content: hit.occurred_at for hit in hits(answer)} == {f"End {n}.": end for n, end in enumerate(ends)}
    assert answer.timeline.splitlines()[0].startswith("0001-01-01 00:00 ")
    for stamp in (Timestamp(seconds=-62135596801), Timestamp(seconds=253402300800), Timestamp(nanos=1_000_000_000)):
        for field in ("as_of", "occurred_after", "occurred_before"):
            with pytest.raises(InvalidArgument) as refused:
                client.recall("end", scope=org, **{field: stamp})  # type: ignore[arg-type]
            assert refused.value.violations[0].field == field


def test_the_timeline_has_a_line_per_hit_and_only_when_asked_for(client: Client, org: common_pb2.Scope) -> None:
    assert client.recall("mast", scope=org, include_timeline=True).timeline == ""
    assert client.recall("mast", scope=org, include_timeline=True).HasField("timeline")
    early, late = datetime(2021, 2, 3, 4, 5, 6, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC)
    client.record_turns(
        [
            turn("The mast\nbroke.\r\n\u2028Again.", name="Ann\nLee", timestamp=late),
            turn("The mast holds.", role="user", timestamp=early),
        ],
        scope=org,
    )
    client.remember([memory("fact", "The mast is of oak.", occurred_at=early)], scope=org)
    for mode in ("active", "deep"):
        answer = client.recall("mast", scope=org, mode=mode, include_timeline=True)
        assert answer.timeline.splitlines() == [
            "2021-02-03 04:05 user: The mast holds.",
            "2021-02-03 04:05 The mast is of oak.",
            "2022-01-01 00:00 Ann Lee: The mast broke.  Again.",
        ]
    assert not client.recall("mast", scope=org).HasField("timeline")
