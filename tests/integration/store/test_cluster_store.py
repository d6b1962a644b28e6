"""The store's code on a cluster of three nodes: each partition on one of them, the registry on any."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from remembrancer.model.errors import StoreUnavailable
from remembrancer.store.change import Change
from remembrancer.store.connection import POOL_SIZE, connect
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import CURRENT_MODEL, PartitionKeys, partition_of
from remembrancer.store.models import ModelRegistry
from remembrancer.store.partition import Applied, PartitionStore
from remembrancer.store.reader import PartitionReader
from remembrancer.store.scopes import ScopeRegistry
from tests.valkey import Cluster, Valkey


@pytest.fixture
async def redis(cluster: Cluster) -> AsyncIterator[Any]:
    client = connect(cluster.url, cluster=True)
    yield client
    await client.aclose()


@pytest.fixture
def store(redis: Any) -> PartitionStore:
    return PartitionStore(redis)


def everything(keys: PartitionKeys) -> Change:
    """Return a change that touches every kind of key of a partition."""
    change = Change(keys)
    change.require_count("uncovered", keys.uncovered("l"), "ZCARD", 0)
    n = change.allocate()
    change.write("HSET", keys.records, n, b"")
    change.write("HSET", keys.vectors("m"), n, b"")
    change.write("HSET", keys.learned, n, b"")
    change.write("HSET", keys.duplicates, "d", n)
    change.write("HINCRBY", keys.speakers, "bo", 1)
    change.write("SADD", keys.unembedded, n)
    change.write("HSET", keys.session("l"), "state", "open")
    change.write("HSET", keys.ledger("l"), "r:x", b"")
    change.write("RPUSH", keys.retrievals("l"), "x")
    change.write("RPUSH", keys.written("l"), n)
    change.write("SADD", keys.used_procedures("l"), n)
    change.write("SET", keys.continuity("c"), "caller")
    change.write("ZADD", keys.sessions_of("caller"), 0, "s")
    change.announce(FeedOp.RECORD, n)
    return change


def owners(cluster: Cluster, keys: PartitionKeys) -> list[Valkey]:
    """Return the nodes that hold keys of a partition."""
    return [node for node in cluster.nodes if node.client().keys(f"*{{{keys.partition}}}*")]


async def test_a_partition_lives_on_one_node_and_partitions_on_all(cluster: Cluster, store: PartitionStore) -> None:
    partitions = [PartitionKeys(partition_of(f"spread:{i}")) for i in range(30)]
    for node in cluster.nodes:
        node.client().script_flush()  # each node gets the script on its own
    outcomes = await asyncio.gather(*(store.apply(everything(keys)) for keys in partitions))
    assert all(isinstance(outcome, Applied) for outcome in outcomes)
    held = [owners(cluster, keys) for keys in partitions]
    assert all(len(nodes) == 1 for nodes in held)
    assert len({nodes[0].port for nodes in held}) == 3
    for keys in partitions:
        snapshot = await store.read(
            ("HGET", keys.meta, "n"), ("LRANGE", keys.retrievals("l"), "0", "-1"), ("GET", keys.continuity("c"))
        )
        assert snapshot.answers == [b"1", [b"x"], b"caller"]


async def test_workers_read_partitions_of_any_node(cluster: Cluster, redis: Any, store: PartitionStore) -> None:
    reader = PartitionReader(redis, "m", 4)
    for i in range(6):
        keys = PartitionKeys(partition_of(f"read:{i}"))
        heads = []
        for _ in range(3):
            applied = await store.apply(everything_but_the_condition(keys))
            assert isinstance(applied, Applied)
            heads.append(applied.head)
        assert await reader.head(keys.partition) == heads[-1]
        pages = [record.n async for page in reader.pages(keys.partition) for record in page]
        assert sorted(pages) == [1, 2, 3]
        entries = await reader.feed_after(keys.partition, heads[0])
        assert entries is not None
        assert [entry.n for entry in entries] == [2, 3]


def everything_but_the_condition(keys: PartitionKeys) -> Change:
    change = Change(keys)
    n = change.allocate()
    change.write("HSET", keys.records, n, b"")
    change.announce(FeedOp.RECORD, n)
    return change


async def test_the_registries_outside_partitions_are_reached_key_by_key(redis: Any, store: PartitionStore) -> None:
    registry, models = ScopeRegistry(redis), ModelRegistry(redis)
    scopes = [f"registry:{i}-x" for i in range(10)]
    for scope in scopes:
        await registry.register(partition_of(scope), scope)
        await registry.note_unembedded(partition_of(scope))
        await registry.register(partition_of(scope.upper()), scope.upper())
    assert await registry.alike(scopes[3]) == [scopes[3].upper()]
    registered = await registry.all()
    assert {partition_of(scope): scope for scope in scopes}.items() <= registered.items()
    assert {partition_of(scope) for scope in scopes} <= set(await registry.unembedded())
    await registry.all_embedded(partition_of(scopes[0]))
    assert partition_of(scopes[0]) not in await registry.unembedded()
    await redis.delete(CURRENT_MODEL)
    assert await models.claim("m@1", 3) == "m@1"
    assert await models.claim("m@2", 4) == "m@1"
    assert (await models.current(), await models.dimension_of("m@1"), await models.dimension_of("m@2")) == ("m@1", 3, 0)
    assert await store.reachable()


async def test_more_calls_than_connections_wait_their_turn(redis: Any, store: PartitionStore) -> None:
    """On one node: the cluster client itself would fail the calls beyond its connections."""
    keys = PartitionKeys(partition_of("crowd:1"))
    outcomes = await asyncio.gather(*(store.apply(everything_but_the_condition(keys)) for _ in range(10 * POOL_SIZE)))
    assert all(isinstance(outcome, Applied) for outcome in outcomes)
    assert await redis.hlen(keys.records) == 10 * POOL_SIZE


async def test_a_partition_is_followed_to_another_node(cluster: Cluster, redis: Any, store: PartitionStore) -> None:
    keys = PartitionKeys(partition_of("moving:1"))
    await store.apply(everything(keys))
    (source,) = owners(cluster, keys)
    target = next(node for node in cluster.nodes if node is not source)
    slot = source.client().execute_command("CLUSTER", "KEYSLOT", keys.meta)
    ids = {node.port: node.client().execute_command("CLUSTER", "MYID") for node in (source, target)}
    target.client().execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source.port])
    source.client().execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target.port])
    first, *others = source.client().execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100)
    source.client().execute_command("MIGRATE", "127.0.0.1", target.port, first, 0, 5000)
    # Half moved, the partition cannot change as a whole: that is said, and nothing is done by halves.
    with pytest.raises(StoreUnavailable):
        await store.apply(everything(keys))
    source.client().execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *others)
    for node in (target, source):
        node.client().execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[target.port])
    assert isinstance(await store.apply(everything_but_the_condition(keys)), Applied)
    assert owners(cluster, keys) == [target]
    assert await redis.hlen(keys.records) == 2
    # A client that never heard of the move is redirected.
    stranger = connect(cluster.url, cluster=True)
    assert (await PartitionStore(stranger).read(("HGET", keys.meta, "n"))).answers == [b"2"]
    await stranger.aclose()


@pytest.mark.long
async def test_a_cluster_that_cannot_be_reached_is_an_outage(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Cluster(tmp_path_factory.mktemp("gone")) as cluster:
        client: Any = connect(cluster.url, cluster=True)
        store = PartitionStore(client)
        keys = PartitionKeys(partition_of("gone:1"))
        await store.apply(everything_but_the_condition(keys))
        for node in cluster.nodes:
            node.kill()
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                await store.read(("HGET", keys.meta, "n"))
        with pytest.raises(StoreUnavailable):
            await store.apply(everything_but_the_condition(keys))
        assert not await store.reachable()
        for node in cluster.nodes:
            node.start()
        deadline = asyncio.get_running_loop().time() + 15
        while not isinstance(await _try(store, keys), Applied):
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.1)
        assert (await store.read(("HGET", keys.meta, "n"))).answers == [b"2"]
        await client.aclose()


async def _try(store: PartitionStore, keys: PartitionKeys) -> object:
    try:
        return await store.apply(everything_but_the_condition(keys))
    except StoreUnavailable:
        return None
