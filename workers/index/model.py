"""Which model's vectors a worker holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from remembrancer.internal.v1 import tier_pb2
from remembrancer.store.models import ModelRegistry
from remembrancer.store.reader import PartitionReader

BYTES_PER_VALUE = 2  # float16


@dataclass(frozen=True, slots=True)
class Model:
    """An encoder model: its id and the length of its vectors."""

    id: str
    dimension: int

    @classmethod
    def of_query(cls, request: tier_pb2.SearchRequest) -> Model | None:
        """Return the model that made the request's query vector; None when the query could not be embedded."""
        if not request.query_vector or not request.model_id:
            return None
        return cls(request.model_id, len(request.query_vector) // BYTES_PER_VALUE)


NO_MODEL: Final = Model("", 1)
"""Stands for the store's model while it has none yet, and so no vectors."""


class StoreReaders:
    """Opens partition readers for the model that the store names as current."""

    def __init__(self, redis: Any) -> None:
        """Take an asyncio Redis client that returns bytes."""
        self._redis = redis
        self._models = ModelRegistry(redis)

    async def open(self) -> tuple[Model, PartitionReader]:
        """Return the store's current model and a reader for it. Errors: StoreUnavailable."""
        model_id = await self._models.current()
        dimension = await self._models.dimension_of(model_id) if model_id else 0
        model = Model(model_id, dimension) if dimension else NO_MODEL
        return model, PartitionReader(self._redis, model.id, model.dimension)
