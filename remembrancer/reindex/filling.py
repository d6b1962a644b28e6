"""Fills the vectors of another model into one partition, and settles the partition on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.models import ModelRegistry
from remembrancer.store.partition import Applied, PartitionStore
from remembrancer.store.vector_sets import FILLING, SETTLED, VectorSets, read_sets

PAGE: Final = 500
"""Records looked at together."""

CHUNK: Final = 16
"""Records embedded together, and written in one change."""

Embed = Callable[[Sequence[str]], Awaitable[list[bytes]]]
"""Returns the vectors of each text, as the store holds them; b"" of one that the model cannot read."""


class Filling:
    """Fills one model's vectors in. Its methods can be repeated after they broke off at any point.

    Errors: StoreUnavailable, WriteNotDurable, and those of `embed` and `check`.
    """

    def __init__(
        self,
        store: PartitionStore,
        models: ModelRegistry,
        model_id: str,
        embed: Embed,
        check: Callable[[], Awaitable[None]],
        on_records: Callable[[int], None],
    ) -> None:
        """Take the store, the registry of models, the model and what embeds with it.

        `check` raises when the work is no longer wanted; `on_records` is told how many more records are done.
        """
        self._store = store
        self._models = models
        self._model_id = model_id
        self._embed = embed
        self._check = check
        self._on_records = on_records
        self._scanned: set[str] = set()
        self.embedded = 0

    async def fill(self, partition: str) -> int:
        """Give vectors to all records of a partition that have none; return how many got some.

        From the first call on every record written has them or is in `behind`, so that later calls look only there.
        """
        before, keys = self.embedded, PartitionKeys(partition)
        while (sets := await read_sets(self._store, self._models, keys)) and not self._begun(sets):
            await self._check()
            await self._begin(keys, sets)
            self._scanned.discard(partition)
        if partition not in self._scanned:
            await self._scan(keys)
            self._scanned.add(partition)
        while names := (await self._store.read(("SRANDMEMBER", keys.behind, str(CHUNK)))).answers[0]:
            await self._embed_all(keys, [name.decode() for name in names])
        return self.embedded - before

    async def settle(self, partition: str, others: Sequence[str]) -> None:
        """Fill, then end the filling of a partition whose model serves by now; the sets of `others` go."""
        keys, wanted = PartitionKeys(partition), self._model_id.encode()
        while True:
            sets = await read_sets(self._store, self._models, keys)
            if sets.settled == wanted and sets.filling is None:
                return
            await self.fill(partition)
            sets = await read_sets(self._store, self._models, keys)
            change = Change(keys)
            sets.require(change)
            change.require_same("filling", keys.meta, FILLING, wanted)
            change.require_count("behind", keys.behind, "SCARD", 0)
            change.write("HSET", keys.meta, SETTLED, self._model_id)
            change.write("HDEL", keys.meta, FILLING)
            for other in others:
                change.write("UNLINK", keys.vectors(other))
            await self._store.apply(change)

    def _begun(self, sets: VectorSets) -> bool:
        return self._model_id.encode() in (sets.filling, sets.settled if sets.filling is None else None)

    async def _begin(self, keys: PartitionKeys, sets: VectorSets) -> None:
        """Have every later write fit the model's set, which is empty at first: what is left of it may be outdated."""
        change = Change(keys)
        sets.require(change)
        change.write("HSET", keys.meta, FILLING, self._model_id)
        change.write("UNLINK", keys.behind)
        for model in {self._model_id, *sets.models()} - {sets.current}:
            change.write("UNLINK", keys.vectors(model))
        await self._store.apply(change)

    async def _scan(self, keys: PartitionKeys) -> None:
        """Put every record without a vector into `behind`."""
        cursor = "0"
        while True:
            snapshot = await self._store.read(("HSCAN", keys.records, cursor, "COUNT", str(PAGE), "NOVALUES"))
            raw_cursor, raw_names = snapshot.answers[0]
            cursor, names = raw_cursor.decode(), [name.decode() for name in raw_names]
            if names:
                vectors = keys.vectors(self._model_id)
                present = (await self._store.read(*(("HEXISTS", vectors, name) for name in names))).answers
                missing = [name for name, there in zip(names, present, strict=True) if not there]
                self._on_records(len(names) - len(missing))
                if missing:
                    change = Change(keys)
                    change.write("SADD", keys.behind, *missing)
                    await self._store.apply(change)
            if cursor == "0":
                return

    async def _embed_all(self, keys: PartitionKeys, names: Sequence[str]) -> None:
        raw = (await self._store.read(("HMGET", keys.records, *names))).answers[0]
        found = {name: decode.record(value) for name, value in zip(names, raw, strict=True)}
        records = {name: record for name, record in found.items() if record is not None}
        vectors = dict(zip(records, await self._embed([r.content for r in records.values()]), strict=True))
        await self._check()
        read = dict(zip(names, raw, strict=True))
        if not await self._write(keys, read, vectors):
            # One that was changed meanwhile stays in `behind` and is met again.
            for name in names:
                await self._write(keys, {name: read[name]}, vectors)

    async def _write(self, keys: PartitionKeys, read: Mapping[str, bytes | None], vectors: Mapping[str, bytes]) -> bool:
        sets = await read_sets(self._store, self._models, keys)
        if not self._begun(sets):
            return False
        change, done = Change(keys), [name for name in read if name in vectors]
        sets.require(change)
        for name, raw in read.items():
            change.require_same("record", keys.records, name, raw)
            # One that is gone or cannot be read has no text.
            change.write("SREM", keys.behind, name)
        for name in done:
            if vectors[name]:
                change.write("HSET", keys.vectors(self._model_id), name, vectors[name])
            if sets.current == self._model_id:
                change.write("SREM", keys.unembedded, name)
                change.write("SREM", keys.aside, name)
                change.announce(FeedOp.RECORD, int(name))
        if not isinstance(await self._store.apply(change), Applied):
            return False
        self.embedded += len(done)
        self._on_records(len(read))
        return True
