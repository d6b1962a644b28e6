"""Goes on with erasures that nobody works on, and has the append-only file rewritten; runs beside the server."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import seconds
from remembrancer.model.errors import StoreUnavailable
from remembrancer.store.keys import PartitionKeys
from services.gateway.erasure import erase_copies, erase_records
from services.gateway.parts import Parts
from services.gateway.rounds import Round

PAUSE: Final = 2.0
"""Seconds between two looks."""

IDLE_SECONDS: Final = 10.0
"""An erasure that did not move for so long is nobody's."""

REWRITE_EVERY: Final = 60.0
"""Seconds between two rewrites at least: each writes the whole store anew."""


async def erase_leftovers(parts: Parts) -> None:
    """Look for ever; an outage of the store only delays it."""
    loop, erasing = asyncio.get_running_loop(), Round("erase", partial(finish_erasures, parts))
    rewritten = loop.time() - REWRITE_EVERY
    while True:
        await asyncio.sleep(PAUSE)
        with suppress(StoreUnavailable):
            await erasing.go(await parts.sweeper.erasing())
            if loop.time() - rewritten >= REWRITE_EVERY and await parts.sweeper.rewrite():
                rewritten = loop.time()


async def finish_erasures(parts: Parts, partition: str) -> None:
    """Finish the idle erasures of a partition. Errors: StoreUnavailable, WriteNotDurable."""
    keys = PartitionKeys(partition)
    snapshot = await parts.store.read(("HGETALL", keys.erasures))
    found = snapshot.answers[0]
    if not found:
        await parts.sweeper.end(partition)
        if (await parts.store.read(("HLEN", keys.erasures))).answers[0]:
            await parts.sweeper.begin(partition)
    for name, raw in zip(found[::2], found[1::2], strict=True):
        erasure = store_pb2.Erasure.FromString(raw)
        if snapshot.now_ms / 1000 - seconds(erasure.at) >= IDLE_SECONDS:
            await erase_records(parts, keys, name.decode())
            await erase_copies(parts, keys, name.decode())
