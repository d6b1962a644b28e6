"""Tries of a change while others change the same things."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from remembrancer.model.errors import Conflict
from remembrancer.store.change import Change
from remembrancer.store.partition import Applied, Replayed
from services.gateway.shared.idempotency import FirstAnswer, Idempotency
from services.gateway.shared.parts import Parts

PAUSE: Final = 0.004
"""Seconds; a try waits a random time up to this, times the number of tries before it."""


async def tries(limit: int) -> AsyncIterator[int]:
    """Yield 0, 1, ... below `limit`, with growing random pauses in between, so that rivals get out of step."""
    for attempt in range(limit):
        if attempt:
            await asyncio.sleep(random.uniform(0.0, PAUSE * attempt))  # noqa: S311  (no secret depends on it)
        yield attempt


async def apply_once(parts: Parts, change: Change, idempotency: Idempotency) -> Applied | FirstAnswer | None:
    """Apply a change, of which the tiers learn; None when it is to be decided anew, since something changed meanwhile.

    FirstAnswer is the first answer, when the same request came in meanwhile. Errors: RequestIdReused, StoreUnavailable,
    WriteNotDurable.
    """
    match await parts.store.apply(change):
        case Applied() as applied:
            parts.warm(change.keys.partition, applied.head)
            return applied
        case Replayed(_, body, answer, base):
            return idempotency.checked(body, answer, base)
        case _:
            return None


async def insist(attempt: Callable[[], Awaitable[bool]], limit: int, refusal: str) -> None:
    """Make an attempt until it returns that it succeeded. Errors: Conflict with `refusal` after `limit` failures."""
    async for _ in tries(limit):
        if await attempt():
            return
    raise Conflict(refusal)
