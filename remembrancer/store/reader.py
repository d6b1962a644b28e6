"""What a tier worker reads of a partition: whole pages for a cold load, then the feed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remembrancer.internal.v1 import store_pb2
from remembrancer.store.keys import PartitionKeys


class FeedOp(StrEnum):
    """What changed about a record; the entry never says how."""

    RECORD = "r"
    """Record, vector or both: written, changed or erased."""
    LEARNED = "l"
    """Only what feedback taught."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One change: its feed id `F-<nonce>`, what changed, and the record's N.

    An entry that is not understood has no `op` and N 0: it is to be counted and passed over.
    """

    id: str
    op: FeedOp | None
    n: int


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """Current state of one record.

    `record` is None when it was erased. `vectors` are float32, (windows, dimension), unit length; None when the record
    is not embedded yet or its stored vector is damaged.
    """

    n: int
    record: store_pb2.Record | None
    vectors: NDArray[np.float32] | None
    learned: store_pb2.Learned | None
    damaged: bool = False


class PartitionReader:
    """Reads partitions for a tier worker. `dimension` is that of `model_id`."""

    def __init__(self, redis: Any, model_id: str, dimension: int) -> None:
        """Take an asyncio Redis or RedisCluster client that returns bytes."""
        self._redis = redis
        self._model_id = model_id
        self._dimension = dimension

    async def head(self, partition: str) -> str:
        """Return the newest feed id, "" for a partition that was never written to."""
        value = await self._redis.hget(PartitionKeys(partition).meta, "head")
        return value.decode() if value else ""

    async def pages(self, partition: str, page: int = 1000) -> AsyncIterator[list[StoredRecord]]:
        """Yield all records, about `page` at a time, in no order; one may come twice."""
        keys = PartitionKeys(partition)
        cursor: int = 0
        while True:
            cursor, found = await self._redis.hscan(keys.records, cursor=cursor, count=page, no_values=True)
            yield await self.fetch(partition, [int(n) for n in found])
            if cursor == 0:
                return

    async def feed_after(self, partition: str, after: str, count: int = 1000) -> list[FeedEntry] | None:
        """Return up to `count` entries after the id `after`; None when `after` itself is not in the feed any more."""
        raw = await self._redis.xrange(PartitionKeys(partition).feed, min=after, count=count + 1)
        if not raw or raw[0][0].decode() != after:
            return None
        return [_entry(entry_id.decode(), fields) for entry_id, fields in raw[1:]]

    async def fetch(self, partition: str, ns: Sequence[int]) -> list[StoredRecord]:
        """Return the current state of the records named, in order."""
        if not ns:
            return []
        keys = PartitionKeys(partition)
        fields = [str(n) for n in ns]
        pipe = self._redis.pipeline(transaction=False)
        pipe.hmget(keys.records, fields)
        pipe.hmget(keys.vectors(self._model_id), fields)
        pipe.hmget(keys.learned, fields)
        records, vectors, learned = await pipe.execute()
        return [self._stored(n, r, v, k) for n, r, v, k in zip(ns, records, vectors, learned, strict=True)]

    def _stored(self, n: int, record: bytes | None, vectors: bytes | None, learned: bytes | None) -> StoredRecord:
        decoded, damaged = decode_vectors(vectors, self._dimension)
        return StoredRecord(
            n=n,
            record=store_pb2.Record.FromString(record) if record is not None else None,
            vectors=decoded,
            learned=store_pb2.Learned.FromString(learned) if learned is not None else None,
            damaged=damaged,
        )


def decode_vectors(raw: bytes | None, dimension: int) -> tuple[NDArray[np.float32] | None, bool]:
    """Return float32 (windows, dimension) and whether the bytes were damaged (then the vectors are None)."""
    if raw is None:
        return None, False
    if not raw or len(raw) % (2 * dimension):
        return None, True
    vectors = np.frombuffer(raw, dtype="<f2").reshape(-1, dimension).astype(np.float32)
    if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
        return None, True
    return vectors, False


def _entry(entry_id: str, fields: dict[bytes, bytes]) -> FeedEntry:
    try:
        return FeedEntry(entry_id, FeedOp(fields[b"op"].decode()), int(fields[b"n"]))
    except (KeyError, ValueError):
        return FeedEntry(entry_id, None, 0)
