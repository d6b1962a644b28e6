"""Reads and changes partitions: one script to look, one to change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, TypeAlias

import structlog
from redis.exceptions import NoScriptError, RedisError

from remembrancer.model.errors import StoreDamaged
from remembrancer.store.change import Change, packed
from remembrancer.store.failures import store_failures
from remembrancer.store.keys import essential

TOLD: Final = 1000
"""Damaged keys remembered, so that the log tells of each once."""

Read: TypeAlias = tuple[str, str, *tuple[str | bytes, ...]]
"""A read command: its name, its key, its arguments.

HMGET and SMISMEMBER, whose arguments are names, may have however many of them, none included.
"""


def fields_at(key: str, ns: Iterable[int]) -> Read:
    """Return the command that reads what a hash holds for these N, in their order."""
    return ("HMGET", key, *map(str, ns))


def members_at(key: str, ns: Iterable[int]) -> Read:
    """Return the command that tells of each of these N, in their order, whether it is in a set."""
    return ("SMISMEMBER", key, *map(str, ns))


@dataclass(frozen=True, slots=True)
class Applied:
    """The change is in, durably.

    `now_ms` is the store's clock, `base` the last sequence number before the change, `head` the newest feed id ("" when
    the change announced nothing).
    """

    now_ms: int
    base: int
    head: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """The request_id was seen before: the digest of its body, its answer, and the `base` it had."""

    now_ms: int
    body: bytes
    answer: bytes
    base: int


@dataclass(frozen=True, slots=True)
class Conflicted:
    """Nothing was changed: the condition with this label did not hold."""

    now_ms: int
    label: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Answers to the reads of one moment, in order; bytes as the store holds them."""

    now_ms: int
    answers: list[Any]


class PartitionStore:
    """The gateway's access to partitions."""

    def __init__(self, redis: Any) -> None:
        """Take a client from `connect`."""
        self._redis = redis
        self._apply = files(__package__).joinpath("apply.lua").read_text()
        self._read = files(__package__).joinpath("read.lua").read_text()
        self._digests: dict[str, str] = {}
        self._log = structlog.get_logger()
        self._told: set[str] = set()

    async def read(self, *reads: Read) -> Snapshot:
        """Carry out read commands on keys of one partition at one moment.

        A key of another type than its command needs is answered as if it were absent: it costs what stands there and
        nothing else. Errors: StoreUnavailable; StoreDamaged when it is a key without which the partition says nothing.
        """
        positions: dict[str, int] = {}
        commands = [[r[0], positions.setdefault(r[1], len(positions) + 1), *r[2:]] for r in reads]
        with store_failures():
            now, mistyped, *answers = await self._run(self._read, list(positions), packed(commands))
        names = list(positions)
        damaged = [self._damaged(names[position - 1]) for position in mistyped]
        if any(essential(names[position - 1]) for position in mistyped):
            raise damaged[0]
        return Snapshot(int(now), answers)

    async def read_one(self, read: Read) -> Any:
        """Return the answer to one read command. Errors: StoreUnavailable."""
        return (await self.read(read)).answers[0]

    async def apply(self, change: Change) -> Applied | Replayed | Conflicted:
        """Carry out a change as a whole or not at all.

        Errors: StoreUnavailable; StoreDamaged, nothing is changed then; WriteNotDurable.
        """
        keys, plan = change.packed()
        with store_failures(changing=True):
            verdict, now, *rest = await self._run(self._apply, keys, plan)
        match verdict:
            case b"APPLIED":
                return Applied(int(now), int(rest[0]), rest[1].decode() if len(rest) > 1 and rest[1] else "")
            case b"REPLAYED":
                return Replayed(int(now), rest[0], rest[1], int(rest[2]))
            case b"DAMAGED":
                raise self._damaged(keys[int(rest[0]) - 1])
            case _:
                return Conflicted(int(now), change.label(int(rest[0])))

    async def size(self, keys: Sequence[str]) -> int:
        """Return about how many bytes the store holds under these keys. Errors: StoreUnavailable."""
        with store_failures():
            return sum([int(await self._redis.memory_usage(key) or 0) for key in keys])

    async def ping(self) -> None:
        """Return once the store has answered. Errors: those of its client."""
        await self._redis.ping()

    async def reachable(self) -> bool:
        """Return whether the store answers."""
        try:
            await self.ping()
        except (RedisError, OSError):
            return False
        return True

    def _damaged(self, key: str) -> StoreDamaged:
        """Tell the log about a damaged key, once, and return the error."""
        if key not in self._told:
            self._told.add(key)
            if len(self._told) > TOLD:
                self._told.clear()
            self._log.error("a key of the store is damaged", key=key)
        return StoreDamaged()

    async def _run(self, script: str, keys: list[str], argument: bytes) -> list[Any]:
        digest = self._digests.get(script)
        if digest is None:
            digest = self._digests[script] = _sha1(script)
        try:
            found: list[Any] = await self._redis.execute_command("EVALSHA", digest, len(keys), *keys, argument)
        except NoScriptError:
            found = await self._redis.execute_command("EVAL", script, len(keys), *keys, argument)
        return found


def _sha1(script: str) -> str:
    # The store names scripts by SHA-1; it is no security boundary.
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
