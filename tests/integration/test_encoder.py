"""The encoder as a real process beside a real store."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from numpy.typing import NDArray

from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc
from remembrancer.runtime.channels import open_channel
from remembrancer.runtime.status import reason_of
from remembrancer.store.keys import CURRENT_MODEL, MODELS
from tests.integration.processes import WorkerProcess, cpu_seconds
from tests.valkey import Valkey
from workers.encoder.servicer import MAX_TEXT
from workers.encoder.settings import default_cache

TOKEN = "integration-test-token"
MODEL_ID = "all-MiniLM-L6-v2-int8@53aa5117"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Encoder(WorkerProcess):
    """An encoder process, and a stub of it."""

    def __init__(self, store: Valkey, **settings: str) -> None:
        cache = os.environ.get("REMEMBRANCER_MODEL_CACHE") or str(default_cache())
        super().__init__(
            "workers.encoder", STORE_URL=store.url, WORKER_TOKEN=TOKEN, THREADS="2", MODEL_CACHE=cache, **settings
        )

    async def connect(self) -> None:
        self.stub = encoder_pb2_grpc.EncoderServiceStub(await self.listening())

    async def health(self, service: str = "") -> int:
        async with grpc.aio.insecure_channel(self.ops) as channel:
            return int(
                (await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service))).status
            )

    async def serving(self) -> None:
        async with asyncio.timeout(10):
            while await self.health() != SERVING:  # noqa: ASYNC110  (another process)
                await asyncio.sleep(0.02)

    async def vectors(
        self, *texts: str, lane: encoder_pb2.Lane.ValueType = encoder_pb2.LANE_WRITE
    ) -> list[NDArray[np.float32]]:
        answer = await self.stub.Encode(request(texts, lane))
        return [
            np.frombuffer(r.vectors, "<f2").reshape(-1, answer.dimension).astype(np.float32) for r in answer.results
        ]


def request(texts: Sequence[str], lane: encoder_pb2.Lane.ValueType, analyse: str = "") -> encoder_pb2.EncodeRequest:
    return encoder_pb2.EncodeRequest(
        lane=lane, inputs=[encoder_pb2.EncodeInput(text=text, analyse=analyse) for text in texts]
    )


@pytest.fixture
def store(tmp_path: Path) -> Valkey:
    """A store that is not started yet."""
    return Valkey(tmp_path)


@pytest.fixture(scope="module")
async def encoder(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Encoder]:
    with Valkey(tmp_path_factory.mktemp("store")) as running:
        async with Encoder(running) as encoder:
            await encoder.connect()
            await encoder.serving()
            yield encoder


async def test_it_says_which_model_it_serves(encoder: Encoder) -> None:
    answer = await encoder.stub.GetModel(encoder_pb2.GetModelRequest())
    assert (answer.model_id, answer.dimension, answer.window) == (MODEL_ID, 384, 256)
    assert await encoder.health("remembrancer.internal.v1.EncoderService") == SERVING


async def test_a_text_is_embedded_and_analysed(encoder: Encoder) -> None:
    answer = await encoder.stub.Encode(
        encoder_pb2.EncodeRequest(
            lane=encoder_pb2.LANE_QUERY,
            inputs=[
                encoder_pb2.EncodeInput(text="the bug is fixed", analyse="Carol fixed bug-183 in the release"),
                encoder_pb2.EncodeInput(text="no analysis wanted"),
            ],
        )
    )
    assert answer.model_id == MODEL_ID
    with_analysis, without = answer.results
    assert len(with_analysis.vectors) == 2 * 384
    assert "bug-183" in with_analysis.analysis.terms
    assert {"Carol", "bug-183"} <= {entity.label for entity in with_analysis.analysis.entities}
    assert not without.HasField("analysis")


async def test_a_text_has_the_same_vector_whatever_else_is_encoded(encoder: Encoder) -> None:
    text = "The quarterly report is due on the third of May."
    (alone,) = await encoder.vectors(text)
    companions = [f"companion {i} " + "word " * (i * 3) for i in range(30)]
    load = [asyncio.ensure_future(encoder.vectors(*companions)) for _ in range(4)]
    under_load = await asyncio.gather(*(encoder.vectors(text, lane=encoder_pb2.LANE_QUERY) for _ in range(20)))
    together = (await encoder.vectors(*companions[:5], text, *companions[5:]))[5]
    await asyncio.gather(*load)
    for other in (together, *(found for (found,) in under_load)):
        assert other.tobytes() == alone.tobytes()


async def test_the_end_of_16000_characters_is_found_by_a_paraphrase(encoder: Encoder) -> None:
    end = "Grandmother's recipe for plum cake uses cardamom instead of cinnamon."
    filler = "The committee discussed the parking rules, the fence and the annual budget once again. " * 300
    (long,) = await encoder.vectors(filler[: 16000 - len(end)] + end)
    (query,) = await encoder.vectors("Which spice goes into the plum cake?", lane=encoder_pb2.LANE_QUERY)
    scores = long @ query[0]
    assert 1 < len(long) <= 32
    assert int(scores.argmax()) == len(long) - 1
    assert np.allclose(np.linalg.norm(long, axis=1), 1, atol=2e-3)


async def test_the_longest_procedure_there_can_be_is_encoded(encoder: Encoder) -> None:
    text = "\n".join(("word " * 800, "word " * 800, *["word " * 200] * 64))
    assert len(text) == MAX_TEXT
    answer = await encoder.stub.Encode(request([text], encoder_pb2.LANE_WRITE, text))
    (result,) = answer.results
    assert len(result.vectors) == 32 * 2 * answer.dimension
    assert len(result.analysis.terms) == len(text.split())


async def test_queries_do_not_wait_for_writes(encoder: Encoder) -> None:
    begun = time.monotonic()
    load = [asyncio.ensure_future(encoder.vectors(*["word " * 200] * 60)) for _ in range(3)]
    await asyncio.sleep(0.2)
    started = time.monotonic()
    for _ in range(10):
        await encoder.vectors("a short question", lane=encoder_pb2.LANE_QUERY)
    seconds = time.monotonic() - started
    assert not any(task.done() for task in load)
    await asyncio.gather(*load)
    assert seconds < (time.monotonic() - begun) / 3


async def test_f5_a_cancelled_call_soon_stops_to_cost(encoder: Encoder) -> None:
    calls = [encoder.stub.Encode(request(["word " * 3000] * 100, encoder_pb2.LANE_WRITE)) for _ in range(5)]
    await asyncio.sleep(0.3)
    for call in calls:
        call.cancel()
    await asyncio.sleep(0.5)
    before = cpu_seconds(encoder.process.pid)
    await asyncio.sleep(1)
    assert cpu_seconds(encoder.process.pid) - before < 0.2


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (encoder_pb2.EncodeRequest(), "inputs"),
        (request(["x"] * 101, encoder_pb2.LANE_WRITE), "inputs"),
        (request(["x", "x" * (MAX_TEXT + 1)], encoder_pb2.LANE_WRITE), "inputs[1].text"),
        (request(["x"], encoder_pb2.LANE_WRITE, "x" * (MAX_TEXT + 1)), "inputs[0].analyse"),
        (request(["x"], encoder_pb2.Lane.ValueType(9)), "lane"),
    ],
)
async def test_bad_requests_name_the_field(encoder: Encoder, wrong: encoder_pb2.EncodeRequest, field: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await encoder.stub.Encode(wrong)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert reason_of(caught.value) == "FIELD_INVALID"
    assert (caught.value.details() or "").startswith(f"{field}: ")


async def test_g20_without_the_token_nothing_is_answered(encoder: Encoder) -> None:
    async with open_channel(encoder.address, None) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await encoder_pb2_grpc.EncoderServiceStub(channel).GetModel(encoder_pb2.GetModelRequest())
        assert (caught.value.code(), reason_of(caught.value)) == (
            grpc.StatusCode.UNAUTHENTICATED,
            "CREDENTIALS_MISSING",
        )
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED


async def test_c12_an_encoder_without_the_stores_model_refuses_to_start(store: Valkey) -> None:
    with store:
        redis = store.client()
        redis.set(CURRENT_MODEL, "another-model@00000000")
        async with Encoder(store) as encoder:
            assert await asyncio.wait_for(encoder.process.wait(), 30) == 3
        assert encoder.errors().count("\n") == 1
        assert "another-model@00000000" in encoder.errors()
        assert MODEL_ID in encoder.errors()
        assert redis.get(CURRENT_MODEL) == b"another-model@00000000"
        assert redis.dbsize() == 1


async def test_an_unreachable_store_is_waited_for(store: Valkey) -> None:
    async with Encoder(store) as encoder:
        await encoder.connect()
        async with asyncio.timeout(20):
            while "waiting for the store" not in encoder.log():  # noqa: ASYNC110  (another process)
                await asyncio.sleep(0.02)
        assert await encoder.health() == NOT_SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await encoder.vectors("too early")
        assert reason_of(caught.value) == "ENCODER_UNAVAILABLE"
        with store:
            await encoder.serving()
            assert store.client().get(CURRENT_MODEL) == MODEL_ID.encode()
            assert store.client().hgetall(MODELS) == {MODEL_ID.encode(): b"384"}
            assert len(await encoder.vectors("now")) == 1
            assert await encoder.end() == 0


async def test_a_bad_setting_is_one_line_and_exit_code_2(store: Valkey) -> None:
    async with Encoder(store, MAX_IN_FLIGHT="lots") as encoder:
        assert await asyncio.wait_for(encoder.process.wait(), 20) == 2
    assert encoder.errors().count("\n") == 1
    assert "REMEMBRANCER_MAX_IN_FLIGHT='lots'" in encoder.errors()


async def test_texts_are_not_logged(store: Valkey) -> None:
    with store:
        async with Encoder(store, LOG_LEVEL="debug") as encoder:
            await encoder.connect()
            await encoder.serving()
            await encoder.vectors("my very private sentence")
            with pytest.raises(grpc.aio.AioRpcError):
                await encoder.vectors("my very private sentence " * 4000)
            assert await encoder.end() == 0
    assert "stopped" in encoder.log()
    assert "private" not in encoder.log() + encoder.errors()
