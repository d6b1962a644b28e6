"""Which model's vectors a worker holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from remembrancer.internal.v1 import tier_pb2
from remembrancer.store import keys
from remembrancer.store.reader import PartitionReader

BYTES_PER_VALUE = 2  # float16


@dataclass(frozen=True, slots=True)
class Model:
    """An encoder model: its id and the length of its vectors. The id is "" while the store has no model yet."""

    id: str
    dimension: int

    @classmethod
    def of_query(cls, request: tier_pb2.SearchRequest) -> Model | None:
        """Return the model that made the request's query vector; None when the query could not be embedded."""
        if not request.query_vector or not request.model_id:
            return None
        return cls(request.model_id, len(request.query_vector) // BYTES_PER_VALUE)


class StoreReaders:
    """Opens partition readers for the model that the store names as current.

    The store names the model by its id alone. The length of its vectors comes from the queries, which carry both;
    until the first one comes, `dimension` is taken.
    """

    def __init__(self, redis: Any, dimension: int) -> None:
        """Take an asyncio Redis client that returns bytes, and the length of vectors to start from."""
        self._redis = redis
        self._dimension = dimension

    async def open(self, seen: Model | None) -> tuple[Model, PartitionReader]:
        """Return the store's current model and a reader for it; `seen` is the model of the query at hand."""
        raw = await self._redis.get(keys.CURRENT_MODEL)
        model_id = raw.decode() if raw else ""
        if seen is not None and seen.id == model_id:
            self._dimension = seen.dimension
        model = Model(model_id, self._dimension)
        return model, PartitionReader(self._redis, model.id, model.dimension)
