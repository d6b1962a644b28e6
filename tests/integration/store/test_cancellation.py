"""A cancelled call never hands its answer to another one (field case B10)."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from remembrancer.store.change import Change
from remembrancer.store.connection import POOL_SIZE, connect
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.store.partition import PartitionStore
from tests.valkey import Cluster, Valkey

CALLS = 1000


async def check_each_call_gets_its_own_answer(redis: Any) -> None:
    """Cancel reads and changes at random moments; then each key must have its own value."""
    store = PartitionStore(redis)
    partitions = [PartitionKeys(partition_of(f"cancelled:{i}")) for i in range(POOL_SIZE)]
    for keys in partitions:
        change = Change(keys)
        change.write("HSET", keys.session("s"), "marker", keys.partition)
        await store.apply(change)

    async def call(keys: PartitionKeys, i: int) -> None:
        if i % 2:
            change = Change(keys)
            change.write("HINCRBY", keys.session("s"), "times", 1)
            await store.apply(change)
        else:
            await store.read(("HGET", keys.session("s"), "marker"))

    async def cancelled(i: int, pause: float) -> bool:
        task = asyncio.create_task(call(partitions[i % len(partitions)], i))
        await asyncio.sleep(pause)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    chance = random.Random(10)
    ends = await asyncio.gather(*(cancelled(i, chance.uniform(0, 0.02)) for i in range(CALLS)))
    assert sum(ends) > CALLS / 4

    async def own(keys: PartitionKeys) -> bool:
        snapshot = await store.read(("HGET", keys.session("s"), "marker"))
        return bool(snapshot.answers == [keys.partition.encode()])

    assert all(await asyncio.gather(*(own(partitions[i % len(partitions)]) for i in range(CALLS))))


async def test_b10_a_cancelled_call_leaves_its_answer_to_nobody(valkey: Valkey) -> None:
    redis = connect(valkey.url)
    await check_each_call_gets_its_own_answer(redis)
    await redis.aclose()


async def test_b10_nor_does_it_on_a_cluster(cluster: Cluster) -> None:
    redis = connect(cluster.url, cluster=True)
    await check_each_call_gets_its_own_answer(redis)
    await redis.aclose()
