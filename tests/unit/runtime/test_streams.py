"""Streams that stand still, last too long, are too many, or are cut."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from structlog.testing import capture_logs

from remembrancer.runtime.interceptors import StreamLimits, chain
from remembrancer.runtime.status import reason_of
from tests.unit.runtime.conftest import Bench

PART = health_pb2.HealthCheckRequest(service="x" * 100_000)


async def endless(request: Any, context: Any) -> AsyncIterator[Any]:
    while True:
        yield PART
        await asyncio.sleep(0)


async def stuck(request: Any, context: Any) -> AsyncIterator[Any]:
    yield PART
    await asyncio.sleep(30)
    yield PART


def limits(*, at_once: int = 1, idle: float = 30, whole: float = 30) -> Any:
    return chain(max_in_flight=1, streams=StreamLimits(at_once, idle, whole))


async def read_to_its_end(stream: Any) -> grpc.aio.AioRpcError:
    async with asyncio.timeout(10):
        try:
            while True:
                await stream.read()
        except grpc.aio.AioRpcError as ended:
            return ended


async def open_one(bench: Bench) -> Any:
    stream = bench.stream()
    assert await stream.read() == PART.SerializeToString()
    return stream


async def test_t10_a_stream_in_which_nothing_moves_ends_with_a_reason(bench: Bench) -> None:
    await bench.serve(stuck, limits(idle=0.2))
    ended = await read_to_its_end(await open_one(bench))
    assert (ended.code(), reason_of(ended)) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE")
    assert "nothing moved" in (ended.details() or "")
    await open_one(bench)


async def test_t10_a_stream_that_nobody_reads_makes_room(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.serve(endless, limits(idle=0.2))
    unread = await open_one(bench)
    async with asyncio.timeout(10):
        while True:
            other = bench.stream()
            with contextlib.suppress(grpc.aio.AioRpcError):
                await other.read()
                break
            await asyncio.sleep(0.05)
    unread.cancel()
    other.cancel()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_t10_a_stream_ends_after_its_whole_time(bench: Bench) -> None:
    await bench.serve(endless, limits(whole=0.3))
    ended = await read_to_its_end(bench.stream(timeout=30))
    assert (ended.code(), reason_of(ended)) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE")


async def test_t10_streams_have_a_share_of_admission_of_their_own(bench: Bench) -> None:
    await bench.serve(stuck, limits())
    held = await open_one(bench)
    refused = await read_to_its_end(bench.stream())
    assert (refused.code(), reason_of(refused)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    # The unary method has the same handler, which answers nothing that can be sent: admitted is enough.
    assert reason_of(await bench.failure()) == "INTERNAL"
    held.cancel()


async def test_t39_streams_that_are_cut_log_no_error(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.serve(endless, limits(at_once=60))
    with capture_logs() as lines:
        streams = [await open_one(bench) for _ in range(60)]
        for stream in streams:
            stream.cancel()
        await asyncio.sleep(0.3)
        await open_one(bench)
    assert [line for line in lines if line["log_level"] in ("error", "critical")] == []
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
