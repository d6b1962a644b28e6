"""What a record counts as when a scope is counted."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.store import decode
from remembrancer.v1 import common_pb2


class Counted(IntEnum):
    """What a record counts as; the number is the score in the sorted set `tally`, so it must not change."""

    UNREADABLE = 0
    OBSERVATION = 1
    TURN = 2
    EPISODE = 3
    STALE = 4
    SUPPRESSED = 5
    PROCEDURE = 6


_ACTIVE: Final = {
    store_pb2.RECORD_KIND_OBSERVATION: Counted.OBSERVATION,
    store_pb2.RECORD_KIND_TURN: Counted.TURN,
    store_pb2.RECORD_KIND_EPISODE: Counted.EPISODE,
}


def counted_as(raw: bytes | None) -> Counted:
    """Return what a record counts as, from its bytes as they are stored."""
    record = decode.record(raw)
    if record is None:
        return Counted.UNREADABLE
    if record.kind == store_pb2.RECORD_KIND_PROCEDURE:
        return Counted.PROCEDURE
    if record.suppressed:
        return Counted.SUPPRESSED
    if record.status == common_pb2.MEMORY_STATUS_STALE:
        return Counted.STALE
    return _ACTIVE[record.kind]
