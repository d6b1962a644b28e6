"""Which models have vectors in the store, and which of them serves."""

from __future__ import annotations

from typing import Any

from remembrancer.store.keys import CURRENT_MODEL, MODELS, NEXT_MODEL


class ModelRegistry:
    """The notes on models. Every method may raise the errors of the store's client."""

    def __init__(self, redis: Any) -> None:
        """Take a client from `connect`."""
        self._redis = redis

    async def current(self) -> str:
        """Return the id of the model whose vectors serve, "" while no encoder was ever up."""
        return _text(await self._redis.get(CURRENT_MODEL))

    async def next(self) -> str:
        """Return the id of the model that a reindexing fills in, "" without one."""
        return _text(await self._redis.get(NEXT_MODEL))

    async def begin(self, model_id: str, dimension: int) -> None:
        """Note that vectors of a model are being filled in; a reindexing to another one thereby ends."""
        await self._redis.hset(MODELS, model_id, str(dimension))
        await self._redis.set(NEXT_MODEL, model_id)

    async def flip(self, model_id: str) -> None:
        """Have a model that has begun serve, from one moment to the next."""
        await self._redis.set(CURRENT_MODEL, model_id)

    async def others(self, model_id: str) -> list[str]:
        """Return the ids of all other models that may have vectors in the store."""
        return sorted(name for raw in await self._redis.hkeys(MODELS) if (name := _text(raw)) != model_id)

    async def end(self, others: list[str]) -> None:
        """Note that the reindexing is done and `others` have no vectors any more."""
        if others:
            await self._redis.hdel(MODELS, *others)
        await self._redis.delete(NEXT_MODEL)


def _text(raw: bytes | None) -> str:
    return str(raw or b"", "utf-8", "replace")
