"""A queue with lanes in front of a few threads: recalls go before writes, and these before what nobody waits for."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Any, TypeVar

R = TypeVar("R")


class Lane(IntEnum):
    """Lower goes first."""

    QUERY = 0
    WRITE = 1
    REFILL = 2


class Lanes:
    """Runs pieces of CPU work in `threads` threads, by lane, then in order of arrival.

    A piece is short (one window), so a query waits for at most one piece of a write.
    """

    def __init__(self, threads: int) -> None:
        """Take the number of threads, >= 1."""
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="encode")
        self._free = threads
        self._order = itertools.count()
        self._waiting: list[tuple[Lane, int, asyncio.Future[None]]] = []

    async def run(self, lane: Lane, work: Callable[..., R], *arguments: Any) -> R:
        """Return what `work(*arguments)` returns. When cancelled while waiting for its turn, it is never started."""
        await self._turn(lane)
        running = asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
        running.add_done_callback(lambda _: self._pass_on())  # not at cancellation: a thread cannot be interrupted
        return await asyncio.shield(running)

    def close(self) -> None:
        """Let the threads end."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _turn(self, lane: Lane) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (lane, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Give a freed thread to the next that still waits."""
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
