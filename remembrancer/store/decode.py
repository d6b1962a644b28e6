"""Reads stored messages whose bytes may be damaged: one bad record must not fail a whole call."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import DecodeError

from remembrancer.internal.v1 import store_pb2


def record(raw: bytes | None) -> store_pb2.Record | None:
    """Return the record; None when there is none, or when its bytes or its kind are not understood."""
    if raw is None:
        return None
    try:
        found = store_pb2.Record.FromString(raw)
    except DecodeError:
        return None
    return found if found.kind in _KINDS else None


def records(ns: Iterable[int], raws: Iterable[bytes | None]) -> dict[int, store_pb2.Record]:
    """Return the records among what is stored for these N, by N; see `record`."""
    return {n: found for n, raw in zip(ns, raws, strict=True) if (found := record(raw)) is not None}


def learned(raw: bytes | None) -> store_pb2.Learned:
    """Return what was learned; nothing when nothing is stored or its bytes are not understood."""
    try:
        return store_pb2.Learned.FromString(raw or b"")
    except DecodeError:
        return store_pb2.Learned()


_KINDS = frozenset(number for number in store_pb2.RecordKind.values() if number)
