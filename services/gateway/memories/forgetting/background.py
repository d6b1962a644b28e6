"""Goes on with erasures that nobody works on, and has append-only files rewritten; runs beside the server."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final, TypeAlias

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import seconds
from remembrancer.store.keys import PartitionKeys
from services.gateway.memories.forgetting.erasure import erase_copies, erase_records
from services.gateway.shared.parts import Parts
from services.gateway.shared.rounds import Round

PAUSE: Final = 2.0
"""Seconds between two looks."""

IDLE_SECONDS: Final = 10.0
"""An erasure that did not move for so long is nobody's."""


Named: TypeAlias = tuple[str, str]
"""An erasure: its partition and its name there."""


async def erase_leftovers(parts: Parts) -> None:
    """Look for ever; an outage of the store only delays it."""
    erasing = Round("erase", partial(finish_erasure, parts))
    in_partition = Round("look for erasures", partial(finish_erasures, parts, erasing))

    async def look(_: str) -> None:
        await in_partition.go(await parts.sweeper.erasing())

    async def rewrite(_: str) -> None:
        await parts.rewriter.look()

    rounds = Round("look where erasures are", look), Round("rewrite append-only files", rewrite)
    while True:
        await asyncio.sleep(PAUSE)
        for each in rounds:
            await each.go(["everywhere"])


async def finish_erasures(parts: Parts, erasing: Round[Named], partition: str) -> None:
    """Finish the idle erasures of a partition in a round of their own. Errors: StoreUnavailable."""
    keys = PartitionKeys(partition)
    found = await parts.store.read_one(("HKEYS", keys.erasures))
    if not found:
        await parts.sweeper.end(partition)
        if await parts.store.read_one(("HLEN", keys.erasures)):
            await parts.sweeper.begin(partition)
    await erasing.go((partition, name.decode()) for name in found)


async def finish_erasure(parts: Parts, erasure: Named) -> None:
    """Finish an erasure if it is idle. Errors: DecodeError; Conflict, StoreUnavailable, WriteNotDurable."""
    partition, name = erasure
    keys = PartitionKeys(partition)
    snapshot = await parts.store.read(("HGET", keys.erasures, name))
    raw = snapshot.answers[0]
    if raw is not None and snapshot.now_ms / 1000 - seconds(store_pb2.Erasure.FromString(raw).at) >= IDLE_SECONDS:
        await erase_records(parts, keys, name)
        await erase_copies(parts, keys, name)
