"""Append-only files are rewritten on every node, whatever comes in between."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from remembrancer.store import rewrite
from remembrancer.store.connection import connect
from remembrancer.store.keys import REWRITE, PartitionKeys, partition_of
from remembrancer.store.rewrite import Rewriter
from remembrancer.store.sweep import Sweeper
from tests.valkey import DURABLE, Cluster, Valkey, until

SECONDS = 20.0
WORD = b"lighthouse"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("LEAST_PAUSE", "LONGEST_PAUSE", "AFTER_FAILURE"):
        monkeypatch.setattr(rewrite, pause, 0.0)


@asynccontextmanager
async def opened(url: str, *, cluster: bool = False) -> AsyncIterator[Any]:
    client = connect(url, cluster=cluster)
    yield client
    await client.aclose()


async def looked(rewriter: Rewriter, redis: Any) -> None:
    """Look until nothing is wanted any more."""
    async with asyncio.timeout(SECONDS):
        while await redis.exists(REWRITE):
            await rewriter.look()
            await asyncio.sleep(0.02)


def holding(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.aof") if WORD in path.read_bytes()]


def slow_down(nodes: Sequence[Valkey], microseconds: int) -> None:
    for node in nodes:
        node.client().config_set("rdb-key-save-delay", microseconds)


def kill_children(server: int) -> None:
    for child in Path(f"/proc/{server}/task/{server}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)


async def filled(redis: Any) -> None:
    """Write and erase a word on every node."""
    for i in range(30):
        key = PartitionKeys(partition_of(f"test:{i}")).records
        await redis.hset(key, "1", WORD)
        await redis.hdel(key, "1")
        await redis.hset(key, "2", "stays")


async def test_t2_every_node_of_a_cluster_rewrites_its_file(cluster: Cluster) -> None:
    await rewritten(cluster)


@pytest.mark.long
async def test_t2_a_replica_of_a_cluster_rewrites_its_file_too(tmp_path: Path) -> None:
    with Cluster(tmp_path, replicas=1) as own:
        await rewritten(own)


async def rewritten(cluster: Cluster) -> None:
    folders = [Path(node.client().config_get("dir")["dir"]) for node in cluster.nodes]
    async with opened(cluster.url, cluster=True) as redis:
        await filled(redis)
        assert all(map(holding, folders))
        await Sweeper(redis).want_rewrite()
        await looked(Rewriter(redis), redis)
        assert not any(map(holding, folders))
        for node in cluster.nodes:
            assert node.client().info("persistence")["aof_last_rewrite_time_sec"] >= 0


async def test_t2_a_request_during_a_rewrite_is_served_after_it(tmp_path: Path) -> None:
    with Valkey(tmp_path, *DURABLE) as own:
        async with opened(own.url) as redis:
            await filled(redis)
            rewriter, sweeper = Rewriter(redis), Sweeper(redis)
            await sweeper.want_rewrite()
            slow_down([own], 20_000)
            await rewriter.look()
            assert (await redis.info("persistence"))["aof_rewrite_in_progress"]
            await redis.hset("late", "1", WORD)
            await redis.delete("late")
            await sweeper.want_rewrite()
            slow_down([own], 0)
            await looked(rewriter, redis)
            assert holding(tmp_path) == []


async def test_t2_a_rewrite_that_began_before_the_request_does_not_count(tmp_path: Path) -> None:
    with Valkey(tmp_path, *DURABLE) as own:
        async with opened(own.url) as redis:
            await filled(redis)
            slow_down([own], 20_000)
            await redis.bgrewriteaof()
            await redis.hset("late", "1", WORD)
            await redis.delete("late")
            await Sweeper(redis).want_rewrite()
            slow_down([own], 0)
            await looked(Rewriter(redis), redis)
            assert holding(tmp_path) == []


async def test_t2_a_rewrite_that_failed_is_tried_again(tmp_path: Path) -> None:
    with Valkey(tmp_path, *DURABLE) as own:
        async with opened(own.url) as redis:
            await filled(redis)
            rewriter = Rewriter(redis)
            await Sweeper(redis).want_rewrite()
            slow_down([own], 100_000)
            await rewriter.look()
            kill_children((await redis.info("server"))["process_id"])
            slow_down([own], 0)
            until(lambda: own.client().info("persistence")["aof_last_bgrewrite_status"] == "err")
            await rewriter.look()
            assert await redis.exists(REWRITE)
            await looked(rewriter, redis)
            assert holding(tmp_path) == []


async def test_t2_one_of_two_gateways_does_it_and_the_other_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Valkey(tmp_path, *DURABLE) as own:
        async with opened(own.url) as redis:
            await filled(redis)
            slow_down([own], 20_000)
            first, second = Rewriter(redis), Rewriter(redis)
            await Sweeper(redis).want_rewrite()
            monkeypatch.setattr(rewrite, "LEASE", 0.5)
            await first.look()
            slow_down([own], 0)
            await second.look()
            assert await redis.exists(REWRITE)
            await looked(second, redis)
            assert holding(tmp_path) == []
