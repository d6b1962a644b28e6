"""The encoder's outage as all gateways see it: from the first answer that missed it to the next text it embeds."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Any, Final

import structlog

from remembrancer.model.errors import StoreUnavailable
from remembrancer.store.failures import store_failures
from remembrancer.store.keys import OUTAGE

LOOK_SECONDS: Final = 1.0
"""A gateway that saw no outage itself ends one that others noted at most this often."""


class EncoderOutage:
    """Names the present outage, so that callers of every gateway are told of each outage once."""

    def __init__(self, redis: Any) -> None:
        """Take a client from `connect`."""
        self._redis = redis
        self._noted = True
        self._ended_at = 0.0
        self._ending: set[asyncio.Task[None]] = set()
        self._log = structlog.get_logger()

    async def name(self) -> str:
        """Return the name of the present outage; the first to ask begins it. Errors: StoreUnavailable."""
        token = secrets.token_hex(8)
        self._noted = True
        with store_failures():
            await self._redis.set(OUTAGE, token, nx=True)
            found = await self._redis.get(OUTAGE)
        return token if found is None else str(found.decode())

    def over(self) -> None:
        """Note that the encoder works, and do not wait: healthy calls pay nothing for it."""
        now = time.monotonic()
        if not self._noted and now - self._ended_at < LOOK_SECONDS:
            return
        self._noted, self._ended_at = False, now
        task = asyncio.ensure_future(self._end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self) -> None:
        try:
            with store_failures():
                await self._redis.unlink(OUTAGE)
        except StoreUnavailable:
            self._noted = True
            self._log.debug("the end of an outage is not noted yet")
