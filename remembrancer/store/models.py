"""Which models have vectors in the store, and which of them serves."""

from __future__ import annotations

from typing import Any

from remembrancer.store.failures import store_failures
from remembrancer.store.keys import CURRENT_MODEL, MODELS, NEXT_MODEL


class ModelRegistry:
    """The notes on models. All methods raise StoreUnavailable."""

    def __init__(self, redis: Any) -> None:
        """Take a client from `connect`."""
        self._redis = redis

    async def current(self) -> str:
        """Return the id of the model whose vectors serve, "" while no encoder was ever up."""
        return _text(await self._do("GET", CURRENT_MODEL))

    async def next(self) -> str:
        """Return the id of the model that a reindexing fills in, "" without one."""
        return _text(await self._do("GET", NEXT_MODEL))

    async def ids(self) -> list[str]:
        """Return the ids of all models that may have vectors in the store."""
        return sorted(_text(raw) for raw in await self._do("HKEYS", MODELS))

    async def dimension_of(self, model_id: str) -> int:
        """Return the length of a model's vectors, 0 when it never had any in the store."""
        return int(await self._do("HGET", MODELS, model_id) or 0)

    async def claim(self, model_id: str, dimension: int) -> str:
        """Have a model serve unless another one does; return the one that serves."""
        if await self.current() in ("", model_id):
            await self._do("HSET", MODELS, model_id, str(dimension))
            await self._do("SET", CURRENT_MODEL, model_id, "NX")
        return await self.current()

    async def begin(self, model_id: str, dimension: int) -> None:
        """Note that vectors of a model are being filled in; a reindexing to another one thereby ends."""
        await self._do("HSET", MODELS, model_id, str(dimension))
        await self._do("SET", NEXT_MODEL, model_id)

    async def flip(self, model_id: str) -> None:
        """Have a model that has begun serve, from one moment to the next."""
        await self._do("SET", CURRENT_MODEL, model_id)

    async def end(self, others: list[str]) -> None:
        """Note that the reindexing is done and `others` have no vectors any more."""
        if others:
            await self._do("HDEL", MODELS, *others)
        await self._do("DEL", NEXT_MODEL)

    async def _do(self, *command: str) -> Any:
        with store_failures():
            return await self._redis.execute_command(*command)


def _text(raw: bytes | None) -> str:
    return str(raw or b"", "utf-8", "replace")
