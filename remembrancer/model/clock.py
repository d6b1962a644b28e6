"""Rules for times: protobuf timestamps, and times that come as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from google.protobuf import timestamp_pb2

from remembrancer.model.errors import InvalidField

EARLIEST: Final = -62135596800
"""0001-01-01T00:00:00Z in seconds, the first moment a protobuf Timestamp can hold."""

LATEST: Final = 253402300799
"""9999-12-31T23:59:59Z in seconds, the last one."""

_FRACTION: Final = re.compile(r"(?:(?<=:\d\d:\d\d)|(?<=[T ]\d{6}))[.,](\d+)")
_LEAP_SECOND: Final = re.compile(r"([T ]\d\d:?\d\d:?)60")
_END_OF_DAY: Final = re.compile(r"([T ])24(?=:?00(?:$|[^\d:]|:?00(?:$|\D)))")
_SHORTEST: Final = len("20240310")
_DIGITS: Final = 9


def is_time(stamp: timestamp_pb2.Timestamp) -> bool:
    """Return whether a timestamp lies within the years 1 to 9999, as it must."""
    return EARLIEST <= stamp.seconds <= LATEST and 0 <= stamp.nanos <= 999_999_999


def check_timestamp(field: str, stamp: timestamp_pb2.Timestamp) -> timestamp_pb2.Timestamp:
    """Return a timestamp within the years 1 to 9999. Errors: InvalidField naming `field`."""
    if not is_time(stamp):
        raise InvalidField(field, "must lie between 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z")
    return stamp


def parse_time(text: str) -> timestamp_pb2.Timestamp | None:
    """Return the moment that an RFC 3339 or ISO 8601 text names; None when it is empty or not understood.

    Any offset is taken, none means UTC, a date alone means midnight UTC. A leap second is the next second, 24:00 the
    next midnight. Of a fraction nine digits count.
    """
    text = text.strip().upper()
    if len(text) < _SHORTEST or (len(text) > _SHORTEST and text.isdigit()):
        return None  # A longer run of digits counts seconds since some day, of which nothing says which.
    fraction = _FRACTION.search(text)
    text, extra = _FRACTION.sub("", text), timedelta()
    if _LEAP_SECOND.search(text):
        text, extra = _LEAP_SECOND.sub(r"\g<1>59", text), timedelta(seconds=1)
    elif _END_OF_DAY.search(text):
        text, extra = _END_OF_DAY.sub(r"\g<1>00", text), timedelta(days=1)
    try:
        read = datetime.fromisoformat(text) + extra
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    stamp = timestamp_pb2.Timestamp()
    stamp.FromDatetime(read)
    if fraction:
        stamp.nanos = int(fraction[1][:_DIGITS].ljust(_DIGITS, "0"))
    return stamp


def from_ms(milliseconds: int) -> timestamp_pb2.Timestamp:
    """Return the timestamp of milliseconds since 1970."""
    stamp = timestamp_pb2.Timestamp()
    stamp.FromMilliseconds(milliseconds)
    return stamp


def moment(stamp: timestamp_pb2.Timestamp) -> tuple[int, int]:
    """Return what orders timestamps."""
    return stamp.seconds, stamp.nanos


def seconds(stamp: timestamp_pb2.Timestamp) -> float:
    """Return seconds since 1970 with fractions."""
    return stamp.seconds + stamp.nanos / 1e9
