"""Reads what is stored and may be damaged: a damaged piece costs itself, and is the same to all who read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import is_time
from remembrancer.model.errors import StoreDamaged
from remembrancer.model.ids import N_DIGITS

M = TypeVar("M", bound=Message)


def message(kind: type[M], raw: bytes | None) -> M | None:
    """Return a message; None when nothing is stored or its bytes are not understood."""
    if raw is None:
        return None
    try:
        return kind.FromString(raw)
    except DecodeError:
        return None


def record(raw: bytes | None) -> store_pb2.Record | None:
    """Return the record; None when there is none, or when its bytes, its kind or its times are not understood."""
    found = message(store_pb2.Record, raw)
    if found is None or found.kind not in _KINDS or not (is_time(found.occurred_at) and is_time(found.recorded_at)):
        return None
    return found


def records(ns: Iterable[int], raws: Iterable[bytes | None]) -> dict[int, store_pb2.Record]:
    """Return the records among what is stored for these N, by N; see `record`."""
    return {n: found for n, raw in zip(ns, raws, strict=True) if (found := record(raw)) is not None}


def learned(raw: bytes | None) -> store_pb2.Learned:
    """Return what was learned; nothing when nothing is stored or its bytes are not understood."""
    return message(store_pb2.Learned, raw) or store_pb2.Learned()


def log(raw: bytes | None) -> store_pb2.FeedbackLog:
    """Return the feedback on a retrieval; none when none is stored or its bytes are not understood."""
    return message(store_pb2.FeedbackLog, raw) or store_pb2.FeedbackLog()


def number(raw: bytes | None) -> int | None:
    """Return a whole number >= 0; None when nothing is stored, or anything but up to `N_DIGITS` digits."""
    return int(raw) if raw is not None and len(raw) <= N_DIGITS and raw.isdigit() else None


def last_number(raw: bytes | None) -> int:
    """Return the last sequence number, 0 in a partition without any. Errors: StoreDamaged when it is no number."""
    if raw is None:
        return 0
    found = number(raw)
    if found is None:
        raise StoreDamaged
    return found


def numbers(raw: bytes | None) -> list[int]:
    """Return the numbers of a comma-separated list, in order; what is none of them is left out."""
    return [found for part in (raw or b"").split(b",") if (found := number(part)) is not None]


def name(raw: bytes) -> str:
    """Return the name of something stored; one that is not understood comes as a text that names nothing."""
    return raw.decode("ascii", "replace")


_KINDS = frozenset(number for number in store_pb2.RecordKind.values() if number)
