"""What callers learn when the store fails: that nothing was done, or that it is not known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ResponseError

from remembrancer.model.errors import StoreDamaged, StoreUnavailable, WriteNotDurable
from remembrancer.store.change import Change
from remembrancer.store.connection import connect
from remembrancer.store.keys import SCOPES, PartitionKeys
from remembrancer.store.partition import Applied, PartitionStore
from remembrancer.store.scopes import ScopeRegistry
from tests.valkey import DURABLE, Valkey, until


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Valkey]:
    """A server that the test may break."""
    with Valkey(tmp_path, *DURABLE) as running:
        yield running


@pytest.fixture
async def client(own: Valkey) -> AsyncIterator[Any]:
    opened = connect(own.url)
    yield opened
    await opened.aclose()


@pytest.fixture
def store(client: Any) -> PartitionStore:
    return PartitionStore(client)


@pytest.fixture
def scopes(client: Any) -> ScopeRegistry:
    return ScopeRegistry(client)


def change(keys: PartitionKeys, key: str = "") -> Change:
    made = Change(keys)
    made.write("HINCRBY", key or keys.session("s"), "times", 1)
    return made


async def test_a_store_that_is_down(own: Valkey, store: PartitionStore, keys: PartitionKeys) -> None:
    await store.apply(change(keys))
    own.kill()
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await store.read(("HGET", keys.session("s"), "times"))
    with pytest.raises(StoreUnavailable):
        await store.apply(change(keys))
    own.start()
    # What was acknowledged is still there.
    assert (await store.read(("HGET", keys.session("s"), "times"))).answers == [b"1"]
    assert isinstance(await store.apply(change(keys)), Applied)


async def test_a_change_whose_answer_is_lost_may_or_may_not_have_happened(
    own: Valkey, store: PartitionStore, keys: PartitionKeys
) -> None:
    await store.apply(change(keys))
    own.suspend()
    applying = asyncio.create_task(store.apply(change(keys)))
    await asyncio.sleep(0.1)
    own.kill()
    with pytest.raises(WriteNotDurable):
        await applying
    own.start()
    (times,) = (await store.read(("HGET", keys.session("s"), "times"))).answers
    assert times in (b"1", b"2")


async def test_a_full_store_refuses_the_whole_change(own: Valkey, store: PartitionStore, keys: PartitionKeys) -> None:
    await store.apply(change(keys))
    own.client().config_set("maxmemory", "1mb")
    with pytest.raises(StoreUnavailable):
        await store.apply(change(keys))
    assert (await store.read(("HGET", keys.session("s"), "times"))).answers == [b"1"]
    own.client().config_set("maxmemory", 0)
    assert isinstance(await store.apply(change(keys)), Applied)


async def test_a_store_with_too_few_replicas_refuses_the_change_and_answers_reads(
    own: Valkey, store: PartitionStore, scopes: ScopeRegistry, keys: PartitionKeys
) -> None:
    await store.apply(change(keys))
    own.client().config_set("min-replicas-to-write", 1)
    with pytest.raises(StoreUnavailable):
        await store.apply(change(keys))
    with pytest.raises(StoreUnavailable):
        await scopes.note_unembedded(keys.partition)
    own.client().config_set("min-replicas-to-write", 0)
    assert (await store.read(("HGET", keys.session("s"), "times"))).answers == [b"1"]


async def test_our_own_mistakes_are_not_taken_for_an_outage(
    own: Valkey, store: PartitionStore, scopes: ScopeRegistry, keys: PartitionKeys
) -> None:
    for key in (keys.meta, SCOPES):
        own.client().set(key, "neither a hash nor a set")
    mistaken: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: store.read(("HGET", keys.meta, "n")),
        lambda: store.apply(change(keys, keys.meta)),
        scopes.all,
    )
    for call in mistaken:
        with pytest.raises((StoreDamaged, ResponseError)):
            await call()


class Switch:
    """One address with one server after the other behind it; connections that stand are left alone."""

    def __init__(self, target: Valkey) -> None:
        self.target = target
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.target.port)
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.create_task(_pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        sink.write(data)
        await sink.drain()
    sink.close()


async def test_b11_after_a_failover_behind_one_address_writes_go_on(own: Valkey, tmp_path: Path) -> None:
    keys = PartitionKeys("failover")
    own.client().config_set("repl-diskless-sync-delay", 0)
    with Valkey(tmp_path / "replica", *DURABLE, "--replicaof", "127.0.0.1", str(own.port)) as replica:
        until(lambda: replica.client().info("replication")["master_link_status"] == "up", what="replication")
        switch = Switch(own)
        redis = connect(await switch.start())
        store = PartitionStore(redis)
        acknowledged, down, longest = 0, 0.0, 0.0
        clock = asyncio.get_running_loop().time
        end = clock() + 1.5

        async def feed() -> None:
            nonlocal acknowledged, down, longest
            while clock() < end:
                try:
                    await store.apply(change(keys))
                except (StoreUnavailable, WriteNotDurable):
                    down = down or clock()
                    await asyncio.sleep(0.02)
                else:
                    acknowledged += 1
                    longest, down = max(longest, clock() - down if down else 0.0), 0.0

        load = [asyncio.create_task(feed()) for _ in range(20)]
        await asyncio.sleep(0.4)
        before = acknowledged
        own.client().execute_command("FAILOVER", "TO", "127.0.0.1", replica.port)
        switch.target = replica
        await asyncio.gather(*load)
        assert before > 0
        assert acknowledged > before + 50
        assert longest < 15.0
        assert replica.client().info("replication")["role"] == "master"
        assert int(replica.client().hget(keys.session("s"), "times")) >= acknowledged
        await redis.aclose()
        switch.close()
