"""What an erasure needs beyond single partitions: notes of what is to be done."""

from __future__ import annotations

import secrets
from typing import Any

from remembrancer.store.failures import store_failures
from remembrancer.store.keys import ERASING, REWRITE


class Sweeper:
    """The notes. All methods raise StoreUnavailable."""

    def __init__(self, redis: Any) -> None:
        """Take a client from `connect`."""
        self._redis = redis

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
        """Note that append-only files may hold erased texts; see `rewrite`."""
        await self._do("SET", REWRITE, secrets.token_hex(8))

    async def _do(self, *command: str) -> Any:
        with store_failures():
            return await self._redis.execute_command(*command)
