"""What an erasure needs beyond single partitions' hashes: finding keys, and the rewrite of the append-only file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import structlog
from redis.exceptions import ResponseError

from remembrancer.store.failures import store_failures
from remembrancer.store.keys import ERASING, REWRITE

PAGE: Final = 500


class Sweeper:
    """Walks the store. All methods raise StoreUnavailable."""

    def __init__(self, redis: Any) -> None:
        """Take a client from `connect`."""
        self._redis = redis
        self._log = structlog.get_logger()

    async def keys(self, pattern: str) -> AsyncIterator[str]:
        """Yield every key that matches and is there all the while; one may come twice."""
        with store_failures():
            async for key in self._redis.scan_iter(match=pattern, count=PAGE):
                yield key.decode()

    async def begin(self, partition: str) -> None:
        """Note that a partition may have erasures in progress; to be called before the first is written."""
        await self._do("SADD", ERASING, partition)

    async def end(self, partition: str) -> None:
        """Note that a partition has none."""
        await self._do("SREM", ERASING, partition)

    async def erasing(self) -> list[str]:
        """Return the partitions that may have erasures in progress."""
        return sorted(str(raw, "utf-8", "replace") for raw in await self._do("SMEMBERS", ERASING))

    async def want_rewrite(self) -> None:
        """Note that the append-only file may hold erased texts."""
        await self._do("SET", REWRITE, "1")

    async def rewrite(self) -> bool:
        """Start a rewrite of the append-only file if one is wanted; return whether it was started.

        A store that has none, or keeps this command to itself, is left alone.
        """
        if not await self._do("GET", REWRITE):
            return False
        with store_failures():
            try:
                await self._redis.bgrewriteaof()
            except ResponseError as error:
                if "in progress" in str(error).lower():
                    return False
                self._log.warning("the store does not let its append-only file be rewritten; do it there")
        await self._do("DEL", REWRITE)
        return True

    async def _do(self, *command: str) -> Any:
        with store_failures():
            return await self._redis.execute_command(*command)
