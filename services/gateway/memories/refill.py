"""Gives vectors to records that were stored without; runs beside the server."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import structlog

from remembrancer.internal.v1 import encoder_pb2, store_pb2
from remembrancer.model.errors import EncoderUnavailable
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from remembrancer.store.vector_sets import read_sets
from services.gateway.memories.attempts import Attempts
from services.gateway.search.encoding import EncodedTexts, EncoderLate, TextRefused, chunks
from services.gateway.shared.parts import Parts
from services.gateway.shared.rounds import Round

PAUSE: Final = 1.0
"""Seconds between two looks."""

TURN: Final = 2.0
"""Seconds after which the next partition gets its turn."""

MOST: Final = 16
"""Records drawn at a time; as many of them as fit into one call of the encoder are embedded and stored."""

ENCODE_SECONDS: Final = 30.0
"""The longest wait for one call, which stays behind the users' writes."""

PROBE_SECONDS: Final = 5.0
PROBE: Final = "a"
"""A text that every encoder can embed: one that fails at it, or is late, says nothing about other texts."""


async def refill(parts: Parts) -> None:
    """Look for records without a vector for ever; an outage of encoder or store only delays it."""
    log, refiller = structlog.get_logger(), Refiller(parts)

    async def work(partition: str) -> None:
        count = await refiller.refill(partition)
        if count:
            log.info("embedded records that had no vector", partition=partition, records=count)

    refilling = Round("refill", work)

    async def look(_: str) -> None:
        await refilling.go(await parts.scopes.unembedded())

    looking = Round("look for records without a vector", look)
    while True:
        await asyncio.sleep(PAUSE)
        await looking.go(["everywhere"])


class Refiller:
    """Embeds what waits, in calls that shrink while they fail and grow again while they succeed.

    A call that fails leaves all that was stored before it. One that fails with a single text counts against that
    text, provided that the encoder takes another one; a record that fails too often is set aside.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._most: defaultdict[str, int] = defaultdict(lambda: MOST)
        self._attempts: defaultdict[str, Attempts] = defaultdict(Attempts)
        self._log = structlog.get_logger()

    async def refill(self, partition: str) -> int:
        """Embed records of a partition that wait and are due, for one turn or until none is left; return how many.

        Errors: EncoderUnavailable, StoreUnavailable, WriteNotDurable.
        """
        keys, count, end = PartitionKeys(partition), 0, time.monotonic() + TURN
        while names := await self._draw(keys):
            count += await self._embed(keys, names)
            if time.monotonic() > end:
                return count
        if not self._attempts[partition].waiting():
            # Told before looking again: a write that comes in between tells the registry itself.
            await self._parts.scopes.all_embedded(partition)
            if await self._draw(keys):
                await self._parts.scopes.note_unembedded(partition)
        return count

    async def _draw(self, keys: PartitionKeys) -> list[str]:
        """Return some records that wait, are due and not set aside; none only when there are none."""
        aside = {name.decode() for name in await self._parts.store.read_one(("SMEMBERS", keys.aside))}
        attempts, most = self._attempts[keys.partition], self._most[keys.partition]
        skipped = aside | attempts.waiting()
        drawn = await self._parts.store.read_one(("SRANDMEMBER", keys.unembedded, str(most + len(skipped))))
        names = [name for raw in drawn if (name := raw.decode()) not in skipped]
        # One at which the encoder failed is tried alone, and when there is nothing else: it may end the encoder.
        return [name for name in names if not attempts.suspected(name)][:most] or names[:1]

    async def _embed(self, keys: PartitionKeys, names: list[str]) -> int:
        """Embed and store as many of these as fit into one call; return how many."""
        raw = dict(zip(names, await self._parts.store.read_one(("HMGET", keys.records, *names)), strict=True))
        present = {name: found for name, value in raw.items() if (found := decode.record(value)) is not None}
        inputs = [(record.content, "") for record in present.values()]
        chunk = next(chunks(inputs), [])
        read = dict(list(present.items())[: len(chunk)])
        # A record that is gone or cannot be read leaves the set without a vector.
        gone = [name for name in names if name not in present]
        encoded = EncodedTexts("", 0, [])
        if chunk:
            try:
                encoded = await self._call(keys.partition, chunk)
            except TextRefused:
                if len(chunk) == 1:
                    await self._failed(keys, next(iter(read)), raw)
                return 0
        return await self._put(keys, raw, read, encoded, gone)

    async def _call(self, partition: str, chunk: list[tuple[str, str]]) -> EncodedTexts:
        """Embed texts. Errors: TextRefused when the encoder fails at them and not at others, EncoderUnavailable."""
        if len(chunk) == 1:
            await self._probe()
        try:
            encoded = await self._parts.encoder.embed(chunk, encoder_pb2.LANE_REFILL, ENCODE_SECONDS)
        except EncoderUnavailable as error:
            self._most[partition] = max(1, len(chunk) // 2)
            if len(chunk) > 1:
                raise
            if isinstance(error, EncoderLate):
                await self._probe()
            raise TextRefused("the encoder fails at a text") from error
        self._most[partition] = min(MOST, 2 * self._most[partition])
        return encoded

    async def _probe(self) -> None:
        """Return when the encoder is well. Errors: EncoderUnavailable, of no kind that blames a text."""
        try:
            encoded = await self._parts.encoder.embed([(PROBE, "")], encoder_pb2.LANE_REFILL, PROBE_SECONDS)
        except TextRefused as error:
            raise EncoderUnavailable("the encoder fails at every text") from error
        if not encoded.complete:
            raise EncoderUnavailable("the encoder makes no usable vectors")

    async def _put(
        self,
        keys: PartitionKeys,
        raw: Mapping[str, bytes | None],
        read: Mapping[str, store_pb2.Record],
        encoded: EncodedTexts,
        gone: list[str],
    ) -> int:
        sets = await read_sets(self._parts.store, self._parts.models, keys)
        done = 0
        for name, text in zip(read, encoded.texts, strict=True):
            if text.vectors is None:
                continue
            change = Change(keys)
            # A record that was changed meanwhile stays in the set and is met again.
            change.require_same("record", keys.records, name, raw[name])
            sets.require(change)
            sets.put(change, int(name), text.vectors, encoded.model_id)
            change.announce(FeedOp.RECORD, int(name))
            done += await self._applied(keys, name, change)
        for name in gone:
            change = Change(keys)
            change.require_same("record", keys.records, name, raw[name])
            change.write("SREM", keys.unembedded, name)
            done += await self._applied(keys, name, change)
        if not encoded.complete:
            await self._probe()
            for name, text in zip(read, encoded.texts, strict=True):
                if text.vectors is None:
                    await self._failed(keys, name, raw)
        return done

    async def _applied(self, keys: PartitionKeys, name: str, change: Change) -> bool:
        self._attempts[keys.partition].ended(name)
        return isinstance(await self._parts.store.apply(change), Applied)

    async def _failed(self, keys: PartitionKeys, name: str, raw: Mapping[str, bytes | None]) -> None:
        if not self._attempts[keys.partition].failed(name):
            return
        await self._parts.scopes.note_aside(keys.partition)
        change = Change(keys)
        change.require_same("record", keys.records, name, raw[name])
        change.write("SADD", keys.aside, name)
        await self._parts.store.apply(change)
        self._log.error("a record cannot be embedded and was set aside", partition=keys.partition, n=int(name))
