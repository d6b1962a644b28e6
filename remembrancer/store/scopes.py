"""The registry of scopes: which there are, which are named alike, which may hold records without a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remembrancer.model.scope import look_alike
from remembrancer.store.failures import store_failures
from remembrancer.store.keys import ASIDE, LOOK_ALIKES, SCOPES, UNEMBEDDED, PartitionKeys, digest


class ScopeRegistry:
    """The notes on scopes. All methods raise StoreUnavailable.

    A note that is no text is given as something that names nothing: it must not hide the others.
    """

    def __init__(self, redis: Any) -> None:
        """Take a client from `connect`."""
        self._redis = redis

    async def register(self, partition: str, scope: str) -> None:
        """Put a scope into the registry; to be called before its first record is written."""
        await self._do("HSET", SCOPES, partition, scope)
        await self._do("SADD", _alike_key(scope), scope)

    async def strike_out(self, partition: str, scope: str) -> None:
        """Take a scope out of the registry."""
        await self._do("SREM", _alike_key(scope), scope)
        await self._do("HDEL", SCOPES, partition)

    async def name_of(self, partition: str) -> str | None:
        """Return the scope that is registered for a partition, None without one."""
        found = await self._do("HGET", SCOPES, partition)
        return _text(found) if found is not None else None

    async def all(self) -> dict[str, str]:
        """Return every registered partition digest with its scope, some of them empty."""
        with store_failures():
            found = await self._redis.hgetall(SCOPES)
        return {_text(partition): _text(scope) for partition, scope in found.items()}

    async def sizes(self, partitions: Sequence[str]) -> list[int]:
        """Return how many records each partition has; 0 where what stands there holds none."""
        with store_failures():
            pipe = self._redis.pipeline(transaction=False)
            for partition in partitions:
                pipe.hlen(PartitionKeys(partition).records)
            found = await pipe.execute(raise_on_error=False)
            for each in found:
                if isinstance(each, Exception) and not str(each).startswith("WRONGTYPE"):
                    raise each
        return [each if isinstance(each, int) else 0 for each in found]

    async def alike(self, scope: str) -> list[str]:
        """Return other registered scopes that differ only by case or by `-` and `_`."""
        found = await self._do("SMEMBERS", _alike_key(scope))
        return sorted(other for raw in found if (other := raw.decode()) != scope)

    async def unembedded(self) -> list[str]:
        """Return partitions that may hold records without a vector."""
        return sorted(_text(raw) for raw in await self._do("SMEMBERS", UNEMBEDDED))

    async def note_unembedded(self, partition: str) -> None:
        """Note that a partition may hold records without a vector."""
        await self._do("SADD", UNEMBEDDED, partition)

    async def all_embedded(self, partition: str) -> None:
        """Note that a partition has no records without a vector, as far as is known."""
        await self._do("SREM", UNEMBEDDED, partition)

    async def note_aside(self, partition: str) -> None:
        """Note that a partition may hold records at which the encoder failed too often."""
        await self._do("SADD", ASIDE, partition)

    async def _do(self, *command: str) -> Any:
        with store_failures():
            return await self._redis.execute_command(*command)


def _text(raw: bytes) -> str:
    return str(raw, "utf-8", "replace")


def _alike_key(scope: str) -> str:
    return LOOK_ALIKES + digest(look_alike(scope))
