"""Shares the workers among partitions: a flood of calls about one leaves room for those about others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from remembrancer.model.errors import Overloaded


@dataclass(slots=True)
class _Door:
    rooms: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    inside_or_waiting: int = field(default=0)


class PartitionGate:
    """Lets a few calls of each partition and lane run at once, and some more wait; the rest is told to come back.

    Calls of one lane run in the order in which they came; what a lane waits for holds up no other lane. What all calls
    of a partition together can hold is below the admission limit, so that no partition alone can use that up.
    """

    def __init__(self, running: int, waiting: int) -> None:
        """Take the calls of one lane that may run at once, >= 1, and those of a partition that may wait, >= 0."""
        self._running, self._waiting = running, waiting
        self._doors: dict[str, _Door] = {}

    @asynccontextmanager
    async def passed(self, partition: str, lane: str = "") -> AsyncIterator[None]:
        """Wait for room and hold it. Errors: Overloaded."""
        door = self._doors.setdefault(partition, _Door())
        room = door.rooms.setdefault(lane, asyncio.Semaphore(self._running))
        if door.inside_or_waiting >= self._running + self._waiting:
            raise Overloaded("too many calls about this scope are in flight")
        door.inside_or_waiting += 1
        try:
            async with room:
                yield
        finally:
            door.inside_or_waiting -= 1
            if not door.inside_or_waiting:
                del self._doors[partition]
