"""The numbers that a partition has are kept as its records are written, and made anew where they are missing."""

from __future__ import annotations

from typing import Any

import pytest

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import from_ms
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.live import newest_below, oldest_after, tally
from remembrancer.store.partition import PartitionStore
from remembrancer.store.tally import Counted
from remembrancer.v1 import common_pb2

OBSERVATION = store_pb2.RECORD_KIND_OBSERVATION


def record(kind: store_pb2.RecordKind.ValueType = OBSERVATION, **more: Any) -> bytes:
    at = from_ms(1)
    return store_pb2.Record(kind=kind, occurred_at=at, recorded_at=at, **more).SerializeToString()


STORED = {
    3: record(),
    7: record(store_pb2.RECORD_KIND_TURN),
    20: record(store_pb2.RECORD_KIND_PROCEDURE),
    1000: record(status=common_pb2.MEMORY_STATUS_STALE),
    10**7: record(status=common_pb2.MEMORY_STATUS_STALE, suppressed=True),
    10**9: record(),
}
COUNTS = {
    **dict.fromkeys(Counted, 0),
    Counted.OBSERVATION: 2,
    Counted.TURN: 1,
    Counted.PROCEDURE: 1,
    Counted.STALE: 1,
    Counted.SUPPRESSED: 1,
}


async def check(store: PartitionStore, keys: PartitionKeys) -> None:
    assert await newest_below(store, keys, None, 2) == [10**9, 10**7]
    assert await newest_below(store, keys, 10**7, 10) == [1000, 20, 7, 3]
    assert await oldest_after(store, keys, 0, 3) == [3, 7, 20]
    assert await oldest_after(store, keys, 7, 10, 10**7) == [20, 1000, 10**7]


async def test_t36_writes_keep_them(store: PartitionStore, keys: PartitionKeys, redis: Any) -> None:
    change = Change(keys)
    for n, raw in {**STORED, 5: record(), 6: record()}.items():
        change.write("HSET", keys.records, n, raw)
    await store.apply(change)
    assert await redis.zcard(keys.live) == await redis.zcard(keys.tally) == len(STORED) + 2
    change = Change(keys)
    change.write("HDEL", keys.records, "5", "6")
    change.write("HSET", keys.records, "7", STORED[7])
    await store.apply(change)
    await check(store, keys)
    assert await tally(store, keys) == COUNTS
    change = Change(keys)
    change.write("UNLINK", keys.records)
    await store.apply(change)
    assert not await redis.exists(keys.live, keys.tally)
    assert await newest_below(store, keys, None, 10) == []


async def test_t36_a_new_record_is_known_by_the_number_it_gets(store: PartitionStore, keys: PartitionKeys) -> None:
    for _ in range(2):
        change = Change(keys)
        change.write("HSET", keys.records, change.allocate(), record())
        change.write("HSET", keys.records, change.allocate(), record())
        await store.apply(change)
    assert await newest_below(store, keys, None, 10) == [4, 3, 2, 1]


@pytest.mark.parametrize("before", ["absent", "some", "too many", "mistyped"])
async def test_t36_t39_what_is_missing_is_made_anew(
    store: PartitionStore, keys: PartitionKeys, redis: Any, before: str
) -> None:
    """Also with a name that is no number, and a record that nobody can read."""
    await redis.hset(keys.records, mapping={str(n): raw for n, raw in STORED.items()})
    await redis.hset(keys.records, b"\xff no number", record())
    match before:
        case "some":
            await redis.zadd(keys.live, {"3": 3})
        case "too many":
            await redis.zadd(keys.live, {str(n): n for n in range(100)})
            await redis.zadd(keys.tally, {str(n): 1 for n in range(100)})
        case "mistyped":
            await redis.set(keys.live, "text")
    await check(store, keys)
    counts = await tally(store, keys)
    assert {**counts, Counted.OBSERVATION: counts[Counted.OBSERVATION] - 1} == COUNTS
