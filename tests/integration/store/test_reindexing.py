"""Filling another model's vectors in beside writers that come at the worst moments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from remembrancer.internal.v1 import store_pb2
from remembrancer.reindex import filling as filling_module
from remembrancer.reindex.filling import Filling
from remembrancer.store.change import Change
from remembrancer.store.keys import CURRENT_MODEL, PartitionKeys
from remembrancer.store.models import ModelRegistry
from remembrancer.store.partition import Applied, Conflicted, PartitionStore
from remembrancer.store.vector_sets import VectorSets, read_sets
from services.gateway.search.encoding import Encoded
from services.gateway.shared.put_record import put_record

OLD, NEW = "old@1", "new@2"

Meanwhile = Callable[[], Awaitable[None]]


@pytest.fixture(autouse=True)
async def current(redis: Any) -> AsyncIterator[None]:
    await redis.set(CURRENT_MODEL, OLD)
    yield
    await redis.delete(CURRENT_MODEL)


class Partition:
    """One partition, written to as the gateway does and filled as the command does."""

    def __init__(self, redis: Any, store: PartitionStore, keys: PartitionKeys) -> None:
        self.redis, self.store, self.keys = redis, store, keys
        self.models = ModelRegistry(redis)
        self.meanwhile: Meanwhile | None = None
        self.filling = self.new_filling()

    def new_filling(self, model: str = NEW) -> Filling:
        async def embed(texts: Sequence[str]) -> list[bytes]:
            made = [f"{model} {text}".encode() for text in texts]
            if self.meanwhile is not None:
                meanwhile, self.meanwhile = self.meanwhile, None
                await meanwhile()
            return made

        async def check() -> None: ...

        return Filling(self.store, self.models, model, embed, check, lambda _: None)

    def change(self, sets: VectorSets, text: str, model: str, n: int | None = None) -> Change:
        change = Change(self.keys)
        sets.require(change)
        record = store_pb2.Record(kind=store_pb2.RECORD_KIND_OBSERVATION, content=text)
        vectors = f"{model} {text}".encode() if model else b""
        put_record(change, n or change.allocate(), record, Encoded(vectors, store_pb2.Analysis()), model, sets)
        return change

    async def sets(self) -> VectorSets:
        return await read_sets(self.store, self.models, self.keys)

    async def write(self, text: str, model: str = OLD, n: int | None = None) -> None:
        sets = await self.sets()
        assert isinstance(await self.store.apply(self.change(sets, text, model, n)), Applied)

    async def fill(self) -> int:
        return await self.filling.fill(self.keys.partition)

    async def flip(self) -> None:
        await self.models.flip(NEW)

    async def settle(self) -> None:
        await self.filling.settle(self.keys.partition, [OLD])

    async def vectors(self, model: str) -> dict[int, str]:
        found = await self.redis.hgetall(self.keys.vectors(model))
        return {int(n): value.decode() for n, value in found.items()}

    async def unembedded(self) -> set[int]:
        return {int(n) for n in await self.redis.smembers(self.keys.unembedded)}


@pytest.fixture
def partition(redis: Any, store: PartitionStore, keys: PartitionKeys) -> Partition:
    return Partition(redis, store, keys)


async def test_every_record_gets_its_vector_and_keeps_the_old_one_until_the_end(partition: Partition) -> None:
    texts = {n: f"text {n}" for n in range(1, 1 + 3 * filling_module.CHUNK)}
    for text in texts.values():
        await partition.write(text)
    assert await partition.fill() == len(texts)
    assert await partition.fill() == 0
    assert await partition.vectors(NEW) == {n: f"{NEW} {text}" for n, text in texts.items()}
    assert await partition.vectors(OLD) == {n: f"{OLD} {text}" for n, text in texts.items()}
    await partition.flip()
    await partition.settle()
    assert await partition.vectors(OLD) == {}
    assert len(await partition.vectors(NEW)) == len(texts)


async def test_what_is_written_and_changed_while_it_fills_is_met_again(partition: Partition) -> None:
    for text in ("first", "second"):
        await partition.write(text)

    async def meanwhile() -> None:
        await partition.write("third")
        await partition.write("second anew", n=2)
        await partition.write("first, without encoder", model="", n=1)

    partition.meanwhile = meanwhile
    await partition.fill()
    expected = {1: "first, without encoder", 2: "second anew", 3: "third"}
    assert await partition.vectors(NEW) == {n: f"{NEW} {text}" for n, text in expected.items()}
    assert await partition.vectors(OLD) == {2: f"{OLD} second anew", 3: f"{OLD} third"}
    assert await partition.unembedded() == {1}


async def test_what_changes_beside_its_text_is_met_again(partition: Partition) -> None:
    await partition.write("first")

    async def suppress() -> None:
        record = store_pb2.Record(kind=store_pb2.RECORD_KIND_OBSERVATION, content="first", suppressed=True)
        await partition.redis.hset(partition.keys.records, 1, record.SerializeToString())

    partition.meanwhile = suppress
    await partition.fill()
    assert await partition.vectors(NEW) == {1: f"{NEW} first"}


async def test_what_is_erased_meanwhile_stays_erased(partition: Partition) -> None:
    await partition.write("first")
    await partition.write("second")

    async def erase() -> None:
        await partition.redis.hdel(partition.keys.records, 1)

    partition.meanwhile = erase
    await partition.fill()
    assert await partition.vectors(NEW) == {2: f"{NEW} second"}
    assert not await partition.redis.exists(partition.keys.behind)


@pytest.mark.parametrize("step", ["begin", "settle"])
async def test_a_write_decided_before_a_step_and_applied_after_it_is_decided_anew(
    partition: Partition, step: str
) -> None:
    await partition.write("first")
    if step == "settle":
        await partition.fill()
        await partition.flip()
    change = partition.change(await partition.sets(), "late", OLD)
    await (partition.fill() if step == "begin" else partition.settle())
    outcome = await partition.store.apply(change)
    assert isinstance(outcome, Conflicted)
    assert outcome.label == "vector sets"


async def test_vectors_of_the_former_model_that_come_after_the_flip_are_not_kept(partition: Partition) -> None:
    await partition.write("first")
    await partition.fill()
    await partition.flip()
    await partition.write("between", OLD)
    await partition.settle()
    await partition.write("late", OLD)
    assert await partition.vectors(OLD) == {}
    assert await partition.vectors(NEW) == {1: f"{NEW} first", 2: f"{NEW} between"}
    assert await partition.unembedded() == {3}


async def test_a_partition_that_no_pass_has_seen_is_filled_when_it_is_settled(partition: Partition) -> None:
    await partition.write("first")
    await partition.flip()
    await partition.write("second", NEW)
    await partition.settle()
    assert await partition.vectors(NEW) == {1: f"{NEW} first", 2: f"{NEW} second"}
    assert await partition.vectors(OLD) == {}


async def test_another_reindexing_leaves_nothing_of_the_one_it_ends(partition: Partition) -> None:
    await partition.write("first")
    await partition.fill()
    partition.filling = partition.new_filling("third@3")
    await partition.fill()
    assert await partition.vectors(NEW) == {}
    assert await partition.vectors("third@3") == {1: "third@3 first"}
    # Back to the model that serves all the while: its vectors were never touched.
    partition.filling = partition.new_filling(OLD)
    await partition.filling.settle(partition.keys.partition, [NEW, "third@3"])
    assert await partition.vectors("third@3") == {}
    assert await partition.vectors(OLD) == {1: f"{OLD} first"}
