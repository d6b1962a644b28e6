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

_LEAP_SECOND = re.compile(r"(T|t| )(\d\d:?\d\d:?)60")


def check_timestamp(field: str, stamp: timestamp_pb2.Timestamp) -> timestamp_pb2.Timestamp:
    """Return a timestamp within the years 1 to 9999. Errors: InvalidField naming `field`."""
    if not EARLIEST <= stamp.seconds <= LATEST or not 0 <= stamp.nanos <= 999_999_999:
        raise InvalidField(field, "must lie between 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z")
    return stamp


def parse_time(text: str) -> timestamp_pb2.Timestamp | None:
    """Return the moment that an RFC 3339 or ISO 8601 text names; None when it is empty or not understood.

    Any offset is taken, none means UTC, a date alone means midnight UTC. A leap second is the next second.
    """
    text = text.strip()
    if len(text) < len("2024-03-10"):
        return None
    extra = timedelta()
    if _LEAP_SECOND.search(text):
        text, extra = _LEAP_SECOND.sub(r"\g<1>\g<2>59", text), timedelta(seconds=1)
    try:
        moment = datetime.fromisoformat(text) + extra
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    stamp = timestamp_pb2.Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def from_ms(milliseconds: int) -> timestamp_pb2.Timestamp:
    """Return the timestamp of milliseconds since 1970."""
    stamp = timestamp_pb2.Timestamp()
    stamp.FromMilliseconds(milliseconds)
    return stamp


def seconds(stamp: timestamp_pb2.Timestamp) -> float:
    """Return seconds since 1970 with fractions."""
    return stamp.seconds + stamp.nanos / 1e9
