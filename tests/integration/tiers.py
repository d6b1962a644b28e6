"""A tier's worker, and partitions written the way the gateway writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.internal.v1 import store_pb2, tier_pb2, tier_pb2_grpc
from remembrancer.model.analysis import analyse
from remembrancer.store.change import Change
from remembrancer.store.connection import connect
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import CURRENT_MODEL, MODELS, PartitionKeys, partition_of
from remembrancer.store.partition import Applied, PartitionStore
from remembrancer.v1.common_pb2 import Axes
from tests import vectors
from tests.integration.processes import WorkerProcess
from tests.records import DAY, NOW
from tests.valkey import Valkey
from tests.vectors import Vector

MODEL = "test-model@1"
DIMENSION = 128


def direction(name: str) -> Vector:
    """Return a unit vector of its own for each name."""
    return vectors.direction(name, DIMENSION)


def take_model(store: Valkey) -> None:
    """Have a new store serve the vectors of these tests, as an encoder would."""
    store.client().hset(MODELS, MODEL, str(DIMENSION))
    store.client().set(CURRENT_MODEL, MODEL)


class Partition:
    """Writes one partition; `head` is what a caller of the tiers would send."""

    def __init__(self, redis: Any, name: str) -> None:
        self.redis = redis
        self.id = partition_of(f"test:{name}")
        self.keys = PartitionKeys(self.id)
        self.head = ""
        self._store = PartitionStore(redis)
        self._last = 0

    async def add(self, record: store_pb2.Record, vector: Vector | None = None) -> int:
        """Write a new record and return its N."""
        self._last += 1
        await self.put(self._last, record, vector)
        return self._last

    async def put(self, n: int, record: store_pb2.Record | bytes, vector: Vector | bytes | None = None) -> None:
        """Write record N; bytes are written as they are."""
        change = Change(self.keys)
        raw = record if isinstance(record, bytes) else record.SerializeToString()
        change.write("HSET", self.keys.records, str(n), raw)
        if vector is not None:
            raw = vector if isinstance(vector, bytes) else vectors.stored(vector)
            change.write("HSET", self.keys.vectors(MODEL), str(n), raw)
        await self._announced(change, n)

    async def erase(self, n: int) -> None:
        change = Change(self.keys)
        change.write("HDEL", self.keys.records, str(n))
        change.write("HDEL", self.keys.vectors(MODEL), str(n))
        await self._announced(change, n)

    async def learn(self, n: int, learned: store_pb2.Learned) -> None:
        change = Change(self.keys)
        change.write("HSET", self.keys.learned, str(n), learned.SerializeToString())
        await self._announced(change, n, FeedOp.LEARNED)

    async def fill(self, records: dict[int, tuple[store_pb2.Record, Vector | None]]) -> None:
        """Write many records at once, the feed naming the last of them only."""
        pipe = self.redis.pipeline(transaction=False)
        for n, (record, vector) in records.items():
            pipe.hset(self.keys.records, str(n), record.SerializeToString())
            if vector is not None:
                pipe.hset(self.keys.vectors(MODEL), str(n), vectors.stored(vector))
        await pipe.execute()
        await self.announce(max(records))

    async def announce(self, n: int) -> None:
        """Say in the feed that record N changed."""
        await self._announced(Change(self.keys), n)

    async def announce_raw(self, **fields: str) -> None:
        """Put any fields into the feed."""
        count = await self.redis.hincrby(self.keys.meta, "f", 1)
        self.head = f"{count}-1"
        await self.redis.xadd(self.keys.feed, fields, id=self.head)
        await self.redis.hset(self.keys.meta, "head", self.head)

    async def _announced(self, change: Change, n: int, op: FeedOp = FeedOp.RECORD) -> None:
        change.announce(op, n)
        applied = await self._store.apply(change)
        assert isinstance(applied, Applied)
        self.head = applied.head


@asynccontextmanager
async def opened(store: Valkey, name: str) -> AsyncIterator[Partition]:
    """Open a store for writing a partition."""
    async with connect(store.url) as redis:
        yield Partition(redis, name)


class Tier(WorkerProcess):
    """A tier's worker, and a stub of it. A context manager."""

    def __init__(self, name: str, store_url: str, **settings: str) -> None:
        super().__init__(f"workers.{name}", STORE_URL=store_url, WORKER_ID=f"{name}-test", **settings)

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.stub = tier_pb2_grpc.TierServiceStub(await self.listening())
        return self

    async def search(self, *arguments: Any, **named: Any) -> tier_pb2.SearchResponse:
        """Search as `wanted` says."""
        return await self.stub.Search(wanted(*arguments, **named), timeout=10)

    async def found(self, *arguments: Any, **named: Any) -> list[int]:
        """Return the direct matches of a search, best first."""
        return [candidate.n for candidate in (await self.search(*arguments, **named)).direct]


def wanted(
    partition: Partition, query: str = "", vector: Vector | None = None, depth: int = 10, **axes: str
) -> tier_pb2.SearchRequest:
    """Return the request of a caller who knows everything written so far, a day after `NOW`."""
    request = tier_pb2.SearchRequest(
        partition=partition.id,
        head=partition.head,
        query=analyse(query),
        filter=tier_pb2.Filter(axes=Axes(**{"agent_id": "default-agent", **axes})),
        as_of=Timestamp(seconds=NOW + DAY),
        depth=depth,
    )
    if vector is not None:
        request.model_id = MODEL
        request.query_vector = vectors.stored(vector)
    return request
