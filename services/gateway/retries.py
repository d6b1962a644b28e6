"""Tries of a change while others change the same things."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Final

PAUSE: Final = 0.004
"""Seconds; a try waits a random time up to this, times the number of tries before it."""


async def tries(limit: int) -> AsyncIterator[int]:
    """Yield 0, 1, ... below `limit`, with growing random pauses in between, so that rivals get out of step."""
    for attempt in range(limit):
        if attempt:
            await asyncio.sleep(random.uniform(0.0, PAUSE * attempt))  # noqa: S311  (no secret depends on it)
        yield attempt
