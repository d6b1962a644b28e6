"""Waits for the store at the start."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from remembrancer.store.partition import PartitionStore

PAUSE: Final = 0.2


async def until_reachable(store: PartitionStore) -> None:
    """Return once the store answers."""
    log, told = structlog.get_logger(), False
    while not await store.reachable():
        if not told:
            log.warning("waiting for the store")
            told = True
        await asyncio.sleep(PAUSE)
