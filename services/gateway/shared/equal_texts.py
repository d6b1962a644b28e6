"""Keeps the lists of equal records true when a record goes or changes its text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from remembrancer.store.change import Change


def delist(change: Change, known: Mapping[str, bytes | None], gone: Collection[int]) -> None:
    """Take numbers out of the lists `known`: digest -> comma-separated N as read, None = no list."""
    for digest, raw in known.items():
        if raw is None:
            continue
        left = [part for part in raw.decode().split(",") if int(part) not in gone]
        set_list(change, digest, raw, left)


def set_list(change: Change, digest: str, raw: bytes | None, numbers: Iterable[str]) -> None:
    """Put a list in the place of the one that was read; an empty one goes."""
    key, joined = change.keys.duplicates, ",".join(numbers)
    change.require_same("equal texts", key, digest, raw)
    if joined:
        change.write("HSET", key, digest, joined)
    else:
        change.write("HDEL", key, digest)
