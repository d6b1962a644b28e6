"""Shares the workers among partitions: a flood of calls about one leaves room for those about others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from remembrancer.model.errors import Overloaded


@dataclass(slots=True)
class _Door:
    room: asyncio.Semaphore
    inside_or_waiting: int = field(default=0)


class PartitionGate:
    """Lets so many calls of each partition through at once, and so many more wait; the rest is told to come back.

    Calls of one partition pass in the order in which they came. What all calls of a partition together can hold is
    below the admission limit, so that no partition alone can use that up.
    """

    def __init__(self, running: int, waiting: int) -> None:
        """Take the calls of one partition that may run at once, >= 1, and that may wait, >= 0."""
        self._running, self._waiting = running, waiting
        self._doors: dict[str, _Door] = {}

    @asynccontextmanager
    async def passed(self, partition: str) -> AsyncIterator[None]:
        """Wait for room and hold it. Errors: Overloaded."""
        door = self._doors.get(partition)
        if door is None:
            door = self._doors[partition] = _Door(asyncio.Semaphore(self._running))
        if door.inside_or_waiting >= self._running + self._waiting:
            raise Overloaded("too many calls about this scope are in flight")
        door.inside_or_waiting += 1
        try:
            async with door.room:
                yield
        finally:
            door.inside_or_waiting -= 1
            if not door.inside_or_waiting:
                del self._doors[partition]
