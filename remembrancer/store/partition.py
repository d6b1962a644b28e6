"""Reads and changes partitions: one script to look, one to change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeAlias

from redis.exceptions import NoScriptError, RedisError

from remembrancer.model.scope import look_alike
from remembrancer.store.change import Change, packed
from remembrancer.store.failures import store_failures
from remembrancer.store.keys import CURRENT_MODEL, LOOK_ALIKES, MODELS, SCOPES, UNEMBEDDED, PartitionKeys, digest
from remembrancer.store.vector_sets import FILLING, SETTLED, VectorSets

Read: TypeAlias = tuple[str, str, *tuple[str, ...]]
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

    async def read(self, *reads: Read) -> Snapshot:
        """Carry out read commands on keys of one partition at one moment. Errors: StoreUnavailable."""
        positions: dict[str, int] = {}
        commands = [[r[0], positions.setdefault(r[1], len(positions) + 1), *r[2:]] for r in reads]
        with store_failures():
            now, *answers = await self._run(self._read, list(positions), packed(commands))
        return Snapshot(int(now), answers)

    async def read_one(self, read: Read) -> Any:
        """Return the answer to one read command. Errors: StoreUnavailable."""
        return (await self.read(read)).answers[0]

    async def apply(self, change: Change) -> Applied | Replayed | Conflicted:
        """Carry out a change as a whole or not at all. Errors: StoreUnavailable, WriteNotDurable."""
        keys, plan = change.packed()
        with store_failures(changing=True):
            verdict, now, *rest = await self._run(self._apply, keys, plan)
        match verdict:
            case b"APPLIED":
                return Applied(int(now), int(rest[0]), rest[1].decode() if len(rest) > 1 and rest[1] else "")
            case b"REPLAYED":
                return Replayed(int(now), rest[0], rest[1], int(rest[2]))
            case _:
                return Conflicted(int(now), change.label(int(rest[0])))

    async def register(self, partition: str, scope: str, *, model_id: str = "", dimension: int = 0) -> None:
        """Put a scope into the registry before its first record, or one without a vector, is written.

        `model_id` and `dimension` are those of the vector that is to be written, "" and 0 without one. A store that
        lost its data learns them anew by this, or nothing could be found by meaning. Errors: StoreUnavailable.
        """
        with store_failures():
            if model_id and not await self._redis.exists(CURRENT_MODEL):
                await self._redis.hset(MODELS, model_id, str(dimension))
                await self._redis.set(CURRENT_MODEL, model_id, nx=True)
            await self._redis.hset(SCOPES, partition, scope)
            await self._redis.sadd(_alike_key(scope), scope)
        if not model_id:
            await self.note_unembedded(partition)

    async def note_unembedded(self, partition: str) -> None:
        """Note that a partition may hold records without a vector. Errors: StoreUnavailable."""
        with store_failures():
            await self._redis.sadd(UNEMBEDDED, partition)

    async def alike(self, scope: str) -> list[str]:
        """Return other registered scopes that differ only by case or by `-` and `_`. Errors: StoreUnavailable."""
        with store_failures():
            found = await self._redis.smembers(_alike_key(scope))
        return sorted(other for raw in found if (other := raw.decode()) != scope)

    async def scopes(self) -> dict[str, str]:
        """Return every registered partition digest with its scope, some of them empty. Errors: StoreUnavailable."""
        with store_failures():
            found = await self._redis.hgetall(SCOPES)
        return {partition.decode(): scope.decode() for partition, scope in found.items()}

    async def size(self, keys: Sequence[str]) -> int:
        """Return about how many bytes the store holds under these keys. Errors: StoreUnavailable."""
        with store_failures():
            return sum([int(await self._redis.memory_usage(key) or 0) for key in keys])

    async def current_model(self) -> str:
        """Return the id of the model whose vectors serve, "" while no encoder was ever up. Errors: StoreUnavailable."""
        with store_failures():
            raw = await self._redis.get(CURRENT_MODEL)
        return raw.decode() if raw else ""

    async def models(self) -> list[str]:
        """Return the ids of all models that may have vectors in the store. Errors: StoreUnavailable."""
        with store_failures():
            return sorted(raw.decode() for raw in await self._redis.hkeys(MODELS))

    async def dimension_of(self, model_id: str) -> int:
        """Return the length of a model's vectors, 0 when it never had any in the store. Errors: StoreUnavailable."""
        with store_failures():
            return int(await self._redis.hget(MODELS, model_id) or 0)

    async def vector_sets(self, keys: PartitionKeys) -> VectorSets:
        """Return which sets of vectors a partition has.

        To be read after the partition was registered, if it had to be: a reindexing that registered partitions do not
        tell of this one has not begun to look, so that the current model is read as it is then. Errors:
        StoreUnavailable.
        """
        notes = await self.read_one(("HMGET", keys.meta, SETTLED, FILLING))
        # In this order: a partition that is settled on a model tells that this model serves.
        return VectorSets(await self.current_model(), *notes)

    async def sets_for(self, keys: PartitionKeys, model_id: str) -> VectorSets:
        """Return `vector_sets` for a change with vectors of one model, "" = none.

        When these do not serve, it is noted that the partition may hold records without a vector.
        """
        sets = await self.vector_sets(keys)
        if not model_id or model_id != sets.current:
            await self.note_unembedded(keys.partition)
        return sets

    async def unembedded(self) -> list[str]:
        """Return partitions that may hold records without a vector. Errors: StoreUnavailable."""
        with store_failures():
            return sorted(raw.decode() for raw in await self._redis.smembers(UNEMBEDDED))

    async def all_embedded(self, partition: str) -> None:
        """Note that a partition has no records without a vector, as far as is known. Errors: StoreUnavailable."""
        with store_failures():
            await self._redis.srem(UNEMBEDDED, partition)

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

    async def _run(self, script: str, keys: list[str], argument: bytes) -> list[Any]:
        digest = self._digests.get(script)
        if digest is None:
            digest = self._digests[script] = _sha1(script)
        try:
            found: list[Any] = await self._redis.execute_command("EVALSHA", digest, len(keys), *keys, argument)
        except NoScriptError:
            found = await self._redis.execute_command("EVAL", script, len(keys), *keys, argument)
        return found


def _alike_key(scope: str) -> str:
    return LOOK_ALIKES + digest(look_alike(scope))


def _sha1(script: str) -> str:
    # The store names scripts by SHA-1; it is no security boundary.
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
