"""The circuit breaker of one worker."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from services.gateway.search import breaker as module
from services.gateway.search.breaker import Breaker, NotAnswering


class Worker:
    """Answers calls and probes, or is silent, or refuses."""

    def __init__(self) -> None:
        self.answering = asyncio.Event()
        self.answering.set()
        self.calls = self.probes = self.renewals = 0
        self.refusal: grpc.StatusCode | None = None

    def call(self) -> Any:
        self.calls += 1
        return asyncio.ensure_future(self._answer())

    async def probe(self, seconds: float) -> None:
        self.probes += 1
        try:
            await asyncio.wait_for(self.answering.wait(), seconds)
        except TimeoutError:
            raise failure(grpc.StatusCode.DEADLINE_EXCEEDED) from None

    async def renew(self) -> None:
        self.renewals += 1

    async def _answer(self) -> str:
        if self.refusal is not None:
            raise failure(self.refusal)
        await self.answering.wait()
        return "found"


def failure(code: grpc.StatusCode) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), "", "")


@pytest.fixture
async def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    for name in ("SUSPECT_SECONDS", "PROBE_SECONDS", "PAUSE_SECONDS", "RENEW_SECONDS"):
        monkeypatch.setattr(module, name, getattr(module, name) / 20)
    return Worker()


async def test_t16_calls_that_wait_for_a_silent_worker_end_and_further_ones_are_not_made(worker: Worker) -> None:
    breaker = Breaker(worker.probe, worker.renew)
    assert await breaker.call(worker.call) == "found"
    worker.answering.clear()
    waiting = [asyncio.ensure_future(breaker.call(worker.call)) for _ in range(3)]
    ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
    assert [type(end) for end in ended] == [NotAnswering] * 3
    made = worker.calls
    with pytest.raises(NotAnswering):
        await breaker.call(worker.call)
    assert worker.calls == made
    worker.answering.set()
    await asyncio.sleep(4 * module.PAUSE_SECONDS)
    assert await breaker.call(worker.call) == "found"


async def test_t16_a_slow_worker_that_answers_probes_is_waited_for(worker: Worker) -> None:
    breaker = Breaker(worker.probe, worker.renew)

    async def slow() -> str:
        await asyncio.sleep(3 * module.SUSPECT_SECONDS)
        return "found"

    assert await breaker.call(lambda: asyncio.ensure_future(slow())) == "found"
    assert worker.probes
    assert not breaker.is_open


@pytest.mark.parametrize(
    ("code", "probed"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, True),
        (grpc.StatusCode.UNAVAILABLE, True),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, False),
        (grpc.StatusCode.INVALID_ARGUMENT, False),
    ],
)
async def test_t16_only_a_call_without_an_answer_makes_it_probe(
    worker: Worker, code: grpc.StatusCode, probed: bool
) -> None:
    breaker = Breaker(worker.probe, worker.renew)
    worker.refusal = code
    with pytest.raises(grpc.aio.AioRpcError):
        await breaker.call(worker.call)
    await asyncio.sleep(0.01)
    assert bool(worker.probes) == probed
    assert not breaker.is_open


async def test_t16_a_caller_that_cancels_is_cancelled(worker: Worker) -> None:
    breaker = Breaker(worker.probe, worker.renew)
    worker.answering.clear()
    waiting = asyncio.ensure_future(breaker.call(worker.call))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_t18_the_connection_to_a_worker_that_stays_silent_is_renewed(worker: Worker) -> None:
    breaker = Breaker(worker.probe, worker.renew)
    worker.answering.clear()
    with pytest.raises(NotAnswering):
        await breaker.call(worker.call)
    assert worker.renewals == 0
    await asyncio.sleep(3 * module.RENEW_SECONDS)
    assert 1 <= worker.renewals <= 3
    worker.answering.set()
    await asyncio.sleep(4 * module.PAUSE_SECONDS)
    assert await breaker.call(worker.call) == "found"
