"""A circuit breaker for one worker process: calls to one that does not answer fail at once.

Own code, not a library: the known ones count failures, and here a probe decides. A failure count takes callers with
short deadlines for a fault of the worker, and needs several slow calls before it opens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

import grpc

SUSPECT_SECONDS: Final = 0.5
"""A call without an answer for this long makes the breaker probe the worker; the call itself goes on."""

PROBE_SECONDS: Final = 1.0
"""Wait for the answer to a probe, which costs a worker next to nothing."""

PAUSE_SECONDS: Final = 0.25
"""Pause between probes while the breaker is open, so that a worker serves again within about a second of its return."""

RENEW_SECONDS: Final = 10.0
"""Silence after which the connection is renewed, and again: the worker's name may have another address by now."""

SILENT: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})
"""What a call ends with when the worker did not answer. Every other status is an answer."""

T_co = TypeVar("T_co", covariant=True)


class NotAnswering(Exception):
    """The worker does not answer probes: it was not asked, or its answer is not waited for any longer."""


class _Call(Protocol[T_co]):
    """A grpc.aio call."""

    def __await__(self) -> Any: ...

    def cancel(self) -> bool: ...


class Breaker:
    """Closed while the worker answers; open from a failed probe to the next one that succeeds.

    A probe is made when a call fails without an answer or has none for half a second. A worker that is busy answers
    probes: it is not cut off. Where a probe has no answer in time a second one decides, since this process may be the
    busy one. When the breaker opens, the calls that wait for the worker end, too.
    """

    def __init__(self, probe: Callable[[float], Awaitable[object]], renew: Callable[[], Awaitable[None]]) -> None:
        """Take a cheap call to the worker, given its timeout in seconds, and what renews the connection.

        The probe fails with grpc.aio.AioRpcError.
        """
        self._probe, self._renew = probe, renew
        self._waiting: set[Any] = set()
        self._dropped: set[Any] = set()
        self._watch: asyncio.Task[None] | None = None
        self.is_open = False

    async def call(self, begin: Callable[[], _Call[T_co]]) -> T_co:
        """Return the answer of the call that `begin` starts. Errors: grpc.aio.AioRpcError; NotAnswering."""
        if self.is_open:
            raise NotAnswering
        timer = asyncio.get_running_loop().call_later(SUSPECT_SECONDS, self._suspect)
        call = begin()
        self._waiting.add(call)
        try:
            answer: T_co = await call
        except grpc.aio.AioRpcError as error:
            if error.code() in SILENT:
                self._suspect()
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if call in self._dropped and (task is None or not task.cancelling()):
                raise NotAnswering from None
            raise
        else:
            return answer
        finally:
            timer.cancel()
            self._waiting.discard(call)
            self._dropped.discard(call)

    def _suspect(self) -> None:
        if self._watch is None:
            self._watch = asyncio.ensure_future(self._until_answered())

    async def _until_answered(self) -> None:
        loop = asyncio.get_running_loop()
        renewed_at = loop.time()
        try:
            while not (await self._answers() or (not self.is_open and await self._answers())):
                self.is_open = True
                self._dropped |= self._waiting
                for call in list(self._waiting):
                    call.cancel()
                if loop.time() - renewed_at > RENEW_SECONDS:
                    await self._renew()
                    renewed_at = loop.time()
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self.is_open = False
            self._watch = None

    async def _answers(self) -> bool:
        try:
            await self._probe(PROBE_SECONDS)
        except grpc.aio.AioRpcError as error:
            return error.code() not in SILENT
        return True
