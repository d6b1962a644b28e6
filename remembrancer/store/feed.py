"""The feed of a partition: thin entries that say which records changed, never how."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FeedOp(StrEnum):
    """What changed about a record; the entry never says how."""

    RECORD = "r"
    """Record, vector or both: written, changed or erased."""
    LEARNED = "l"
    """Only what feedback taught."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One change: its feed id `F-<nonce>`, what changed, and the record's N.

    An entry that is not understood has no `op` and N 0: it is to be counted and passed over.
    """

    id: str
    op: FeedOp | None
    n: int


def feed_entry(entry_id: str, fields: dict[bytes, bytes]) -> FeedEntry:
    """Return an entry from its id and fields as they are stored."""
    try:
        return FeedEntry(entry_id, FeedOp(fields[b"op"].decode()), int(fields[b"n"]))
    except (KeyError, ValueError):
        return FeedEntry(entry_id, None, 0)
