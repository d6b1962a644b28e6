"""The life of a real server process: health, drain, exit codes."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

PROCESS = """
import asyncio, os, sys
import grpc
from remembrancer.runtime import logs, settings
from remembrancer.runtime.interceptors import chain
from remembrancer.runtime.refusal import StartRefused
from remembrancer.runtime.server import run, serve

class Settings(settings.ProcessSettings):
    listen: str = "127.0.0.1:0"
    ops_listen: str = "127.0.0.1:0"

class Slow(grpc.GenericRpcHandler):
    def service(self, details):
        async def call(request, context):
            await asyncio.sleep(float(request))
            return request
        return grpc.unary_unary_rpc_method_handler(call) if details.method == "/t/Slow" else None

async def main():
    s = settings.load(Settings)
    logs.configure(s, "test")
    flag = os.environ["FLAG"]
    async def ready():
        if os.environ.get("REFUSE"):
            raise StartRefused("no such\\nmodel", 3)
        while not os.path.exists(flag):
            await asyncio.sleep(0.01)
    async def background():
        while not os.path.exists(flag + ".die"):
            await asyncio.sleep(0.01)
        raise ValueError("x")
    async def ill():
        return os.path.exists(flag + ".well")
    await serve(s, name="test", services={"t.Well": None, "t.Ill": ill}, ready=ready,
                register=lambda server: server.add_generic_rpc_handlers((Slow(),)),
                interceptors=chain(max_in_flight=100, default_deadline=60), background=[background])

run(main)
"""


class Running:
    def __init__(self, process: asyncio.subprocess.Process, flag: Any) -> None:
        self.process = process
        self.flag = flag
        self.address = self.ops = ""

    async def listening(self) -> None:
        assert self.process.stdout
        line = json.loads(await asyncio.wait_for(self.process.stdout.readline(), 20))
        assert line["event"] == "listening"
        self.address, self.ops = line["address"], line["ops"]

    async def health(self, service: str, address: str = "") -> int:
        async with grpc.aio.insecure_channel(address or self.ops) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            return int((await stub.Check(health_pb2.HealthCheckRequest(service=service))).status)

    async def becomes(self, service: str, status: int) -> None:
        async with asyncio.timeout(5):
            while await self.health(service) != status:  # noqa: ASYNC110  (another process)
                await asyncio.sleep(0.02)

    async def exit(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), 10)


@pytest.fixture
async def start(tmp_path: Any) -> AsyncIterator[Any]:
    started: list[Running] = []

    async def begin(**env: str) -> Running:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            PROCESS,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PYTHONPATH": ".", "FLAG": str(tmp_path / "flag"), "REMEMBRANCER_GRACE": "5", **env},
        )
        started.append(Running(process, tmp_path / "flag"))
        return started[-1]

    yield begin
    for running in started:
        if running.process.returncode is None:
            running.process.kill()
            await running.process.wait()


async def test_g14_g15_not_serving_until_ready_and_unknown_services_are_not_found(start: Any) -> None:
    running = await start()
    await running.listening()
    assert await running.health("") == NOT_SERVING
    assert await running.health("t.Well") == NOT_SERVING
    assert await running.health("", running.address) == NOT_SERVING
    running.flag.touch()
    await running.becomes("", SERVING)
    await running.becomes("t.Well", SERVING)
    assert await running.health("t.Ill") == NOT_SERVING
    running.flag.with_suffix(".well").touch()
    await running.becomes("t.Ill", SERVING)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.health("t.Unknown")
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND
    assert await running.exit() == 0


async def test_g2_sigterm_lets_calls_finish_and_exits_0(start: Any) -> None:
    running = await start()
    await running.listening()
    running.flag.touch()
    await running.becomes("", SERVING)
    async with grpc.aio.insecure_channel(running.address) as channel:
        call = channel.unary_unary("/t/Slow", None, None)
        calls = [asyncio.ensure_future(call(b"0.01")) for _ in range(30)]
        calls += [asyncio.ensure_future(call(b"1.0")) for _ in range(20)]
        await asyncio.sleep(0.3)
        started = time.monotonic()
        assert await running.exit() == 0
        assert time.monotonic() - started < 4
        answers = await asyncio.gather(*calls)
    assert answers == [b"0.01"] * 30 + [b"1.0"] * 20


async def test_g2_calls_beyond_the_grace_get_a_status(start: Any) -> None:
    running = await start(REMEMBRANCER_GRACE="0.3")
    await running.listening()
    async with grpc.aio.insecure_channel(running.address) as channel:
        call = asyncio.ensure_future(channel.unary_unary("/t/Slow", None, None)(b"50"))
        await asyncio.sleep(0.3)
        assert await running.exit(signal.SIGINT) == 0
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await asyncio.wait_for(call, 2)
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE  # so that clients try elsewhere


async def test_g14_an_open_watch_sees_the_end_and_does_not_delay_it(start: Any) -> None:
    running = await start()
    await running.listening()
    running.flag.touch()
    async with grpc.aio.insecure_channel(running.address) as channel:
        watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=""))
        while (await asyncio.wait_for(watching.read(), 5)).status != SERVING:
            pass
        started = time.monotonic()
        assert await running.exit() == 0
        assert time.monotonic() - started < 2
        assert (await watching.read()).status == NOT_SERVING
        assert await watching.code() == grpc.StatusCode.OK


async def test_sigterm_before_ready_exits_0(start: Any) -> None:
    running = await start()
    await running.listening()
    assert await running.exit() == 0


async def test_a_refused_start_is_one_line_and_its_code(start: Any) -> None:
    running = await start(REFUSE="1")
    assert await asyncio.wait_for(running.process.wait(), 10) == 3
    assert (await running.process.stderr.read()).decode() == "no such model\n"


async def test_an_address_in_use_is_one_line(start: Any) -> None:
    first = await start()
    await first.listening()
    second = await start(REMEMBRANCER_LISTEN=first.address)
    assert await asyncio.wait_for(second.process.wait(), 10) == 1
    assert f"cannot listen on {first.address}" in (await second.process.stderr.read()).decode()


async def test_f9_a_background_task_that_dies_takes_the_process_with_it(start: Any) -> None:
    running = await start()
    await running.listening()
    running.flag.with_suffix(".die").touch()
    assert await asyncio.wait_for(running.process.wait(), 10) == 1


@pytest.mark.long
async def test_g6_pings_every_few_seconds_are_welcome(start: Any) -> None:
    running = await start()
    await running.listening()
    options = [
        ("grpc.keepalive_time_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
    ]
    async with grpc.aio.insecure_channel(running.address, options=options) as channel:
        call = channel.unary_unary("/t/Slow", None, None)
        await call(b"0")
        await asyncio.sleep(33)
        assert channel.get_state() == grpc.ChannelConnectivity.READY
        await call(b"0")
