"""Patience with the store at the start of a process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog
from redis.exceptions import RedisError

from remembrancer.model.errors import StoreUnavailable

PAUSE_SECONDS: Final = 0.2
"""Between two attempts."""

T = TypeVar("T")


async def until_reachable(step: Callable[[], Awaitable[T]]) -> T:
    """Return what `step` returns, trying it for ever while the store cannot be reached; the log is told once."""
    log, told = structlog.get_logger(), False
    while True:
        try:
            return await step()
        except (StoreUnavailable, RedisError, OSError) as error:
            if not told:
                log.warning("waiting for the store", error=type(error).__qualname__)
                told = True
        await asyncio.sleep(PAUSE_SECONDS)
