"""What a tier worker reads of a partition: whole pages for a cold load, then the feed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from remembrancer.internal.v1 import store_pb2
from remembrancer.store import decode
from remembrancer.store.feed import FeedEntry, feed_entry
from remembrancer.store.keys import PartitionKeys

UNIT_TOLERANCE: Final = 0.01
"""How far the length of a stored vector may be from 1; rounding to float16 leaves a tenth of that."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """Current state of one record.

    `record` is None when it was erased. `vectors` are float32, (windows, dimension), unit length; None when the record
    is not embedded yet. `damaged`: something stored under this N cannot be read; it is None then, as if it were not
    there. What stands under a name that is no N counts as a damaged record 0.
    """

    n: int
    record: store_pb2.Record | None
    vectors: NDArray[np.float32] | None
    learned: store_pb2.Learned | None
    damaged: bool = False


STRANGER: Final = StoredRecord(0, None, None, None, damaged=True)
"""What stands in the place of a record whose name is no N."""


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
            ns = [n for name in found if (n := decode.number(name)) is not None]
            yield [*await self.fetch(partition, ns), *[STRANGER] * (len(found) - len(ns))]
            if cursor == 0:
                return

    async def feed_after(self, partition: str, after: str, count: int = 1000) -> list[FeedEntry] | None:
        """Return up to `count` entries after the id `after`; None when `after` itself is not in the feed any more."""
        raw = await self._redis.xrange(PartitionKeys(partition).feed, min=after, count=count + 1)
        if not raw or raw[0][0].decode() != after:
            return None
        return [feed_entry(entry_id.decode(), fields) for entry_id, fields in raw[1:]]

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
        records, vectors, learned = [_values(found, len(ns)) for found in await pipe.execute(raise_on_error=False)]
        return [
            decode_stored(n, r, v, k, self._dimension) for n, r, v, k in zip(ns, records, vectors, learned, strict=True)
        ]


def _values(found: Any, count: int) -> Sequence[bytes | None]:
    """Return what was found, damaged values where the key is no hash. Errors: any other of the store's client."""
    if not isinstance(found, Exception):
        return list(found)
    if str(found).startswith("WRONGTYPE"):
        return [b""] * count
    raise found


def decode_stored(
    n: int, record: bytes | None, vectors: bytes | None, learned: bytes | None, dimension: int
) -> StoredRecord:
    """Return the record whose parts are stored as these bytes, None = not stored. No bytes are an error."""
    state, taught = decode.record(record), decode.message(store_pb2.Learned, learned)
    windows, damaged = decode_vectors(vectors, dimension)
    damaged |= (state is None and record is not None) or (taught is None and learned is not None)
    return StoredRecord(n, state, windows, taught, damaged=damaged)


def decode_vectors(raw: bytes | None, dimension: int) -> tuple[NDArray[np.float32] | None, bool]:
    """Return float32 (windows, dimension), and whether the bytes were damaged (then the vectors are None)."""
    if raw is None:
        return None, False
    if not raw or len(raw) % (2 * dimension):
        return None, True
    vectors = np.frombuffer(raw, dtype="<f2").reshape(-1, dimension).astype(np.float32)
    if np.isfinite(vectors).all() and (np.abs(np.linalg.norm(vectors, axis=1) - 1) <= UNIT_TOLERANCE).all():
        return vectors, False
    return None, True
