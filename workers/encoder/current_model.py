"""Agreement with the store on the one model whose vectors serve."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from redis.exceptions import RedisError

from remembrancer.runtime.refusal import WRONG_MODEL, StartRefused
from remembrancer.store.keys import CURRENT_MODEL

RETRY_EVERY = 0.5
"""Seconds between two attempts to reach the store."""


async def claim(redis: Any, model_id: str) -> None:
    """Return once the store's current model is `model_id`, which a new store takes over.

    An unreachable store is asked again for ever. StartRefused, with code 3, when it has another model.
    """
    log = structlog.get_logger()
    told = False
    while True:
        try:
            await redis.set(CURRENT_MODEL, model_id, nx=True)
            stored = await redis.get(CURRENT_MODEL)
            break
        except (RedisError, OSError) as error:
            if not told:
                log.warning("the store cannot be reached; trying on", error=type(error).__qualname__)
                told = True
        await asyncio.sleep(RETRY_EVERY)
    if stored is None or stored.decode() != model_id:
        found = "none" if stored is None else stored.decode("utf-8", "replace")
        raise StartRefused(f"the store serves vectors of {found}, this encoder makes those of {model_id}", WRONG_MODEL)
