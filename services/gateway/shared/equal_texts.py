"""Keeps the lists of equal records true when a record comes, goes or changes its text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from remembrancer.store import decode
from remembrancer.store.change import Change


def delist(change: Change, known: Mapping[str, bytes | None], gone: Collection[int]) -> None:
    """Take numbers out of the lists `known`: digest -> comma-separated N as read, None = no list."""
    for digest, raw in known.items():
        if raw is not None:
            _set_list(change, digest, raw, (n for n in decode.numbers(raw) if n not in gone))


def enlist(change: Change, digest: str, raw: bytes | None, new: Iterable[int]) -> None:
    """Put numbers at the end of the list that was read, None = no list."""
    _set_list(change, digest, raw, [*decode.numbers(raw), *new])


def _set_list(change: Change, digest: str, raw: bytes | None, numbers: Iterable[int]) -> None:
    """Put a list in the place of the one that was read; an empty one goes."""
    key, joined = change.keys.duplicates, ",".join(map(str, numbers))
    change.require_same("equal texts", key, digest, raw)
    if joined:
        change.write("HSET", key, digest, joined)
    else:
        change.write("HDEL", key, digest)
