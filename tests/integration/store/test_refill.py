"""Embedding what was stored without vectors, by an encoder that fails at some of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import grpc
import numpy as np
import pytest

from remembrancer.cli.set_aside import set_aside
from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc, store_pb2
from remembrancer.model.errors import EncoderUnavailable
from remembrancer.reindex.embedding import Embedding, usable
from remembrancer.runtime.channels import RenewableChannel, open_channel
from remembrancer.store.keys import ASIDE, CURRENT_MODEL, MODELS, PartitionKeys
from remembrancer.store.models import ModelRegistry
from remembrancer.store.partition import PartitionStore
from remembrancer.store.scopes import ScopeRegistry
from services.gateway.memories import attempts, refill
from services.gateway.memories.refill import Refiller
from services.gateway.search.encoding import Encoder
from tests.odd_encoder import OddEncoder, sleeping, unit
from tests.valkey import Valkey

MODEL, DIMENSION = "odd@1", 8
BAD = "the text that the encoder cannot take"


class Waiting:
    """A partition with records that wait, and what refills it."""

    def __init__(self, redis: Any, store: PartitionStore, keys: PartitionKeys, channel: RenewableChannel) -> None:
        self.redis, self.keys = redis, keys
        models = ModelRegistry(redis)
        self.encoder = Encoder([channel], models.current, models.dimension_of, lambda: None)
        parts: Any = SimpleNamespace(store=store, scopes=ScopeRegistry(redis), models=models, encoder=self.encoder)
        self.refiller = Refiller(parts)

    async def write(self, *texts: str) -> None:
        for n, text in enumerate(texts, 1):
            record = store_pb2.Record(kind=store_pb2.RECORD_KIND_OBSERVATION, content=text)
            await self.redis.hset(self.keys.records, n, record.SerializeToString())
            await self.redis.sadd(self.keys.unembedded, n)
        await ScopeRegistry(self.redis).note_unembedded(self.keys.partition)

    async def rounds(self, count: int) -> int:
        """Look for work so many times; return how many calls were given up."""
        outages = 0
        for _ in range(count):
            try:
                await self.refiller.refill(self.keys.partition)
            except EncoderUnavailable:
                outages += 1
        return outages

    async def left(self) -> list[int]:
        return sorted(int(n) for n in await self.redis.smembers(self.keys.unembedded))


@pytest.fixture(autouse=True)
async def current(redis: Any) -> AsyncIterator[None]:
    await redis.set(CURRENT_MODEL, MODEL)
    await redis.hset(MODELS, MODEL, str(DIMENSION))
    yield
    await redis.delete(CURRENT_MODEL, MODELS, ASIDE)


@pytest.fixture
def odd() -> Iterator[OddEncoder]:
    with OddEncoder(MODEL, DIMENSION) as running:
        yield running


@pytest.fixture
async def waiting(
    redis: Any, store: PartitionStore, keys: PartitionKeys, odd: OddEncoder, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Waiting]:
    monkeypatch.setattr(attempts, "BACK_OFF", 0.0)
    channel = open_channel(odd.address, None)
    async with channel:
        yield Waiting(redis, store, keys, channel)


def array(*values: float) -> bytes:
    return np.array(values, dtype="<f2").tobytes()


@pytest.mark.parametrize(
    "made",
    [
        array(*[float("nan")] * DIMENSION),
        array(1, float("inf"), *[0] * (DIMENSION - 2)),
        array(*[0] * DIMENSION),
        array(*[1] * DIMENSION),
        unit(DIMENSION - 1),
        unit(DIMENSION)[:-1],
        unit(DIMENSION) + array(*[float("nan")] * DIMENSION),
    ],
)
async def test_t8_unusable_vectors_are_refused_and_cost_no_other_text(
    waiting: Waiting, odd: OddEncoder, made: bytes
) -> None:
    odd.vectors = lambda text, context: made if text == BAD else unit(DIMENSION)
    inputs = [("good", ""), (BAD, ""), ("better", "")]
    encoded = await waiting.encoder.encode(inputs, encoder_pb2.LANE_WRITE, 5)
    assert usable(encoder_pb2.Encoded(vectors=made), DIMENSION) == b""
    assert usable(encoder_pb2.Encoded(vectors=unit(DIMENSION)), DIMENSION) == unit(DIMENSION)
    assert [text.vectors for text in encoded.texts] == [unit(DIMENSION), None, unit(DIMENSION)]
    assert not encoded.complete


async def test_t8_vectors_of_another_length_than_the_stores_are_refused(waiting: Waiting, odd: OddEncoder) -> None:
    odd.dimension = DIMENSION // 2
    odd.vectors = lambda text, context: unit(DIMENSION // 2)
    encoded = await waiting.encoder.encode([("good", "")], encoder_pb2.LANE_WRITE, 5)
    assert encoded.texts[0].vectors is None


async def test_t8_an_encoder_that_makes_nothing_usable_blames_no_record(waiting: Waiting, odd: OddEncoder) -> None:
    await waiting.write("one", "two")
    odd.vectors = lambda text, context: array(*[float("nan")] * DIMENSION)
    assert await waiting.rounds(5) == 5
    assert await waiting.left() == [1, 2]
    assert not await waiting.redis.exists(waiting.keys.aside)
    odd.vectors = lambda text, context: unit(DIMENSION)
    await waiting.rounds(1)
    assert await waiting.left() == []


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE, None])
async def test_t40_one_text_that_the_encoder_fails_at_is_set_aside_and_the_others_embedded(
    waiting: Waiting, odd: OddEncoder, valkey: Valkey, code: grpc.StatusCode | None
) -> None:
    def vectors(text: str, context: grpc.ServicerContext) -> bytes:
        if text != BAD:
            return unit(DIMENSION)
        if code is not None:
            context.abort(code, "no")
        return b"odd"

    odd.vectors = vectors
    texts = [f"text {i}" for i in range(40)]
    await waiting.write(BAD, *texts)
    await waiting.rounds(40)
    assert await waiting.left() == [1]
    assert await waiting.redis.smembers(waiting.keys.aside) == {b"1"}
    assert await waiting.redis.smembers(ASIDE) == {waiting.keys.partition.encode()}
    # What `remembrancer status` shows.
    assert set_aside(valkey.url) == 1
    assert waiting.keys.partition not in await ScopeRegistry(waiting.redis).unembedded()
    tried = sum(BAD in call for call in odd.calls)
    await waiting.rounds(3)
    assert sum(BAD in call for call in odd.calls) == tried >= attempts.TRIES
    assert odd.lanes == {encoder_pb2.LANE_REFILL}


async def test_t40_a_text_that_is_late_counts_only_while_others_are_in_time(
    waiting: Waiting, odd: OddEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refill, "ENCODE_SECONDS", 0.2)
    monkeypatch.setattr(refill, "PROBE_SECONDS", 0.5)
    all_late = True

    def vectors(text: str, context: grpc.ServicerContext) -> bytes:
        if all_late or text == BAD:
            sleeping(1, context)
        return unit(DIMENSION)

    odd.vectors = vectors
    await waiting.write(BAD, "good")
    assert await waiting.rounds(4) == 4
    assert not await waiting.redis.exists(waiting.keys.aside)
    all_late = False
    await waiting.rounds(4)
    assert await waiting.left() == [1]
    assert await waiting.redis.smembers(waiting.keys.aside) == {b"1"}


async def test_t13_what_was_encoded_is_kept_and_calls_shrink_to_what_is_encoded_in_time(
    waiting: Waiting, odd: OddEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refill, "ENCODE_SECONDS", 0.3)

    def vectors(text: str, context: grpc.ServicerContext) -> bytes:
        sleeping(0.1 if len(text) > 1 else 0, context)
        return unit(DIMENSION)

    odd.vectors = vectors
    await waiting.write(*(f"a text of a tenth of a second, {i}" for i in range(12)))
    left = [len(await waiting.left())]
    for _ in range(8):
        await waiting.rounds(1)
        left.append(len(await waiting.left()))
    # Never a call that is thrown away twice, and nothing that was stored is embedded again.
    assert left[-1] == 0, left
    assert not await waiting.redis.exists(waiting.keys.aside)


async def test_t13_a_partition_with_much_to_embed_gives_others_their_turn(
    waiting: Waiting, odd: OddEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refill, "TURN", 0.0)
    await waiting.write(*(f"text {i}" for i in range(40)))
    await waiting.rounds(1)
    assert len(odd.calls) == 1
    await waiting.rounds(2)
    assert await waiting.left() == []


async def test_t13_no_call_holds_more_than_the_encoder_does_in_time(waiting: Waiting, odd: OddEncoder) -> None:
    await waiting.write(*(f"{i:02}" + "x" * 15_998 for i in range(21)))
    await waiting.rounds(1)
    assert await waiting.left() == []
    assert max(sum(map(len, call)) for call in odd.calls) <= 32_000


async def test_t11_a_text_that_the_encoder_refuses_costs_a_reindexing_no_other_one(odd: OddEncoder) -> None:
    def refusing(text: str, context: grpc.ServicerContext) -> bytes:
        if text == BAD:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "too long")
        return unit(DIMENSION)

    odd.vectors = refusing
    async with open_channel(odd.address, None) as channel:
        stub = encoder_pb2_grpc.EncoderServiceStub(channel)
        model = await stub.GetModel(encoder_pb2.GetModelRequest())
        embedding = Embedding(stub, model)
        assert await embedding.embed(["good", BAD, "better"]) == [unit(DIMENSION), b"", unit(DIMENSION)]
        assert embedding.skipped == 1
        odd.vectors = lambda text, context: context.abort(grpc.StatusCode.UNAVAILABLE, "down")
        with pytest.raises(grpc.aio.AioRpcError):
            await embedding.embed(["good", "better"])
        assert embedding.skipped == 1
