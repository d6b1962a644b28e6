"""Tries of a change while others change the same things."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from remembrancer.model.errors import Conflict

PAUSE: Final = 0.004
"""Seconds; a try waits a random time up to this, times the number of tries before it."""


async def tries(limit: int) -> AsyncIterator[int]:
    """Yield 0, 1, ... below `limit`, with growing random pauses in between, so that rivals get out of step."""
    for attempt in range(limit):
        if attempt:
            await asyncio.sleep(random.uniform(0.0, PAUSE * attempt))  # noqa: S311  (no secret depends on it)
        yield attempt


async def insist(attempt: Callable[[], Awaitable[bool]], limit: int, refusal: str) -> None:
    """Make an attempt until it returns that it succeeded. Errors: Conflict with `refusal` after `limit` failures."""
    async for _ in tries(limit):
        if await attempt():
            return
    raise Conflict(refusal)
