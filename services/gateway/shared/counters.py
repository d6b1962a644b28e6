"""How often recalls returned a record: kept beside the records, never used in ranking."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog

from remembrancer.model.errors import StoreDamaged, StoreUnavailable, WriteNotDurable
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Conflicted, PartitionStore, fields_at


class RecallCounters:
    """Counts behind the answer's back: what goes wrong with a count fails nothing."""

    def __init__(self, store: PartitionStore) -> None:
        """Take the store."""
        self._store = store
        self._log = structlog.get_logger()
        self._running: set[asyncio.Task[None]] = set()

    def bump(self, keys: PartitionKeys, ns: Iterable[int], pause: str) -> None:
        """Count one return of each record, unless the key `pause` is there, and do not wait for it."""
        task = asyncio.ensure_future(self._bump(keys, list(ns), pause))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _bump(self, keys: PartitionKeys, ns: list[int], pause: str) -> None:
        if not ns:
            return
        try:
            try:
                while ns and (gone := await self._count(keys, ns, pause)) is not None:
                    ns.remove(gone)
            except StoreDamaged:
                await self._drop_damaged(keys, ns)
        except (StoreDamaged, StoreUnavailable, WriteNotDurable) as error:
            self._log.debug("recalls were not counted", reason=type(error).__name__)

    async def _count(self, keys: PartitionKeys, ns: list[int], pause: str) -> int | None:
        """Count them all, or return one that was erased meanwhile, when none is counted: no count must outlive it."""
        change = Change(keys)
        change.require_count("pause", pause, "EXISTS", 0)
        for n in ns:
            change.require_present(str(n), keys.records, str(n))
            change.write("HINCRBY", keys.counts, n, 1)
        outcome = await self._store.apply(change)
        return decode.number(outcome.label.encode()) if isinstance(outcome, Conflicted) else None

    async def _drop_damaged(self, keys: PartitionKeys, ns: list[int]) -> None:
        """Drop counts that are no numbers, all when they are no hash: the next return of these records counts again."""
        change = Change(keys)
        if await self._store.read_one(("TYPE", keys.counts)) not in (b"hash", b"none"):
            change.write("UNLINK", keys.counts)
        for n, raw in zip(ns, await self._store.read_one(fields_at(keys.counts, ns)), strict=True):
            if raw is not None and decode.number(raw) is None:
                change.require_same("count", keys.counts, str(n), raw)
                change.write("HDEL", keys.counts, n)
        await self._store.apply(change)
