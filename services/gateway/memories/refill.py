"""Gives vectors to records that were written while the encoder was down; runs beside the server."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from remembrancer.internal.v1 import encoder_pb2
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from remembrancer.store.vector_sets import read_sets
from services.gateway.search.encoding import EncodedTexts, TextRefused
from services.gateway.shared.parts import Parts
from services.gateway.shared.rounds import Round

PAUSE: Final = 1.0
"""Seconds between two looks."""

CHUNK: Final = 32
"""Records embedded at a time."""

ENCODE_SECONDS: Final = 30.0


async def refill(parts: Parts) -> None:
    """Look for records without a vector for ever; an outage of encoder or store only delays it."""
    log = structlog.get_logger()

    async def work(partition: str) -> None:
        count = await refill_partition(parts, partition)
        log.info("embedded records that had no vector", partition=partition, records=count)

    refilling = Round("refill", work)

    async def look(_: str) -> None:
        await refilling.go(await parts.scopes.unembedded())

    looking = Round("look for records without a vector", look)
    while True:
        await asyncio.sleep(PAUSE)
        await looking.go(["everywhere"])


async def refill_partition(parts: Parts, partition: str) -> int:
    """Embed all records of a partition that wait for it; return how many.

    Errors: EncoderUnavailable, StoreUnavailable, WriteNotDurable.
    """
    keys, count = PartitionKeys(partition), 0
    while True:
        drawn = await parts.store.read_one(("SRANDMEMBER", keys.unembedded, str(CHUNK)))
        names = [name.decode() for name in drawn]
        if not names:
            # Told before looking again: a write that comes in between tells the registry itself.
            await parts.scopes.all_embedded(partition)
            if await parts.store.read_one(("SCARD", keys.unembedded)):
                await parts.scopes.note_unembedded(partition)
            return count
        count += await _refill(parts, keys, names)


async def _refill(parts: Parts, keys: PartitionKeys, names: list[str]) -> int:
    raw = dict(zip(names, await parts.store.read_one(("HMGET", keys.records, *names)), strict=True))
    present = {name: found for name, value in raw.items() if (found := decode.record(value)) is not None}
    try:
        encoded = await parts.encoder.embed(
            [(record.content, "") for record in present.values()], encoder_pb2.LANE_WRITE, ENCODE_SECONDS
        )
    except TextRefused:
        if len(names) > 1:
            return sum([await _refill(parts, keys, [name]) for name in names])
        encoded = EncodedTexts("", 0, [])
    # A record that is gone, unreadable or refused leaves the set without a vector: it is found by words, if at all.
    texts = dict(zip(present, encoded.texts, strict=False))
    sets = await read_sets(parts.store, parts.models, keys)
    done = 0
    for name in names:
        change = Change(keys)
        # A record that was changed meanwhile stays in the set and is met again.
        change.require_same("record", keys.records, name, raw[name])
        if name in texts:
            sets.require(change)
            sets.put(change, int(name), texts[name].vectors, encoded.model_id)
            change.announce(FeedOp.RECORD, int(name))
        else:
            change.write("SREM", keys.unembedded, name)
        done += isinstance(await parts.store.apply(change), Applied)
    return done
