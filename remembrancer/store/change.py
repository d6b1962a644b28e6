"""A change to one partition: conditions, writes and feed entries, applied by the script as a whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgpack

from remembrancer.store import decode
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.tally import counted_as

FEED_KEEP: Final = 100_000
"""Feed entries kept per partition, roughly; a worker further behind loads the partition anew."""


@dataclass(frozen=True, slots=True)
class Allocated:
    """The i-th sequence number (from 1) that the script allocates for this change."""

    index: int

    def number(self, base: int) -> int:
        """Return N, given the last number before the change."""
        return base + self.index


@dataclass(frozen=True, slots=True)
class Numbers:
    """Sequence numbers, known and allocated ones, as one comma-separated text."""

    known: str
    allocated: tuple[Allocated, ...]


@dataclass(frozen=True, slots=True)
class StoreTime:
    """The store's clock in milliseconds at the moment of the change."""


Argument = str | bytes | int | Allocated | Numbers | StoreTime

Counter = Literal["LLEN", "HLEN", "SCARD", "ZCARD", "EXISTS"]
"""The command that counts a list, a set or a sorted set."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Remembers the answer to a request_id: `body` is a digest of the request, `answer` what to give again."""

    key: str
    body: bytes
    answer: bytes
    ttl_ms: int


@dataclass(slots=True)
class Change:
    """Collects a change; `PartitionStore.apply` carries it out."""

    keys: PartitionKeys
    replay: Replay | None = None
    _conditions: list[list[Any]] = field(default_factory=list)
    _labels: list[str] = field(default_factory=list)
    _writes: list[list[Any]] = field(default_factory=list)
    _feed: list[list[Any]] = field(default_factory=list)
    _names: dict[str, int] = field(default_factory=dict)
    _allocated: int = 0

    def require_same(self, label: str, key: str, name: str | bytes, expected: bytes | None) -> None:
        """Require that a hash field still has the value that was read (None = absent)."""
        self._condition(label, "same", key, name, False if expected is None else expected)

    def require_recent(self, label: str, key: str, name: str, max_age_ms: int) -> None:
        """Require that a hash field holds a store time at most `max_age_ms` ago."""
        self._condition(label, "recent", key, name, max_age_ms)

    def require_below(self, label: str, key: str, name: str, limit: int) -> None:
        """Require that a counter (absent = 0) is below `limit`."""
        self._condition(label, "below", key, name, limit)

    def require_present(self, label: str, key: str, name: str) -> None:
        """Require that a hash has a field, whatever its value."""
        self._condition(label, "present", key, name)

    def require_count(self, label: str, key: str, counter: Counter, count: int) -> None:
        """Require that a collection has as many entries as were read; an absent one has none."""
        self._condition(label, "count", key, counter, count)

    def allocate(self) -> Allocated:
        """Reserve the next sequence number."""
        self._allocated += 1
        return Allocated(self._allocated)

    def write(self, command: str, key: str, *arguments: Argument) -> None:
        """Add one write command on one key; where it writes records, what is kept about them is written with it."""
        self._writes.append([command, self._position(key), *(_packed(a) for a in arguments)])
        if key == self.keys.records:
            self._keep_track(command, arguments)

    def announce(self, op: FeedOp, n: int | Allocated) -> None:
        """Add a feed entry: readers fetch the record's current state."""
        self._feed.append([op.value, _packed(n)])

    def label(self, position: int) -> str:
        """Return the label of the condition at a position that the script reported (from 1)."""
        return self._labels[position - 1]

    def packed(self) -> tuple[list[str], bytes]:
        """Return KEYS and the plan for the script."""
        plan = {
            "conditions": self._conditions,
            "writes": self._writes,
            "feed": self._feed,
            "allocate": self._allocated,
            "meta": self._position(self.keys.meta),
            "stream": self._position(self.keys.feed),
            "nonce": str(secrets.randbits(62)),
            "keep": FEED_KEEP,
        }
        if self.replay is not None:
            plan["replay"] = {
                "key": self._position(self.replay.key),
                "body": self.replay.body,
                "answer": self.replay.answer,
                "ttl": self.replay.ttl_ms,
            }
        return list(self._names), packed(plan)

    def _keep_track(self, command: str, arguments: Sequence[Argument]) -> None:
        """Keep the sets of `live` in step with the records."""
        if command == "HSET":
            n, raw = arguments
            self.write("ZADD", self.keys.live, numbered(n), n)
            self.write("ZADD", self.keys.tally, int(counted_as(raw if isinstance(raw, bytes) else None)), n)
            return
        for key in (self.keys.live, self.keys.tally):
            if command == "HDEL":
                self.write("ZREM", key, *arguments)
            else:
                self.write("UNLINK", key)

    def _condition(self, label: str, kind: str, key: str, *rest: str | bytes | int | bool) -> None:
        self._conditions.append([kind, self._position(key), *rest])
        self._labels.append(label)

    def _position(self, key: str) -> int:
        return self._names.setdefault(key, len(self._names) + 1)


def numbered(name: Argument) -> Argument:
    """Return the score of a record in `live`: its N, 0 for a name that is none."""
    if isinstance(name, str | bytes):
        return decode.number(name.encode() if isinstance(name, str) else name) or 0
    return name


def packed(value: Any) -> bytes:
    """Return MessagePack as the store's scripting library reads it: bytes travel as strings."""
    return bytes(msgpack.packb(value, use_bin_type=False))


def _packed(argument: Argument) -> Any:
    match argument:
        case Allocated(index):
            return {"n": index}
        case Numbers(known, allocated):
            return {"known": known, "numbers": [a.index for a in allocated]}
        case StoreTime():
            return {"t": 1}
        case int():
            return str(argument)
        case _:
            return argument
