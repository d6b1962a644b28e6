"""Pull on read: brings a partition up to the caller's head before a search sees it.

A worker is a cache of the store. `head` equal to the worker's position means current. Otherwise the feed is read after
that position and the current state of the records it names is applied. A position that is not in the feed any more
means that the store was lost, rolled back or trimmed: what is held is dropped and loaded anew.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import structlog
from redis.exceptions import ConnectionError as StoreConnectionError

from remembrancer.model.errors import PartitionLoading, PartitionTooLarge, StoreUnavailable
from remembrancer.store.failures import store_failures
from remembrancer.store.feed import FeedEntry
from remembrancer.store.reader import PartitionReader, StoredRecord
from workers.index.model import Model

PAGE = 1000
"""Records applied and feed entries read at a time."""

APPLY_SLICE = 100
"""Records applied per executor job, so that searches get their turn in between."""

TOO_LARGE_SECONDS = 60.0
"""How long a partition that did not fit is refused without trying again."""

NAMED = 10
"""Damaged records that one line of the log names."""

LOAD_ATTEMPTS = 3
"""How often a load starts over because the feed was trimmed under it."""


class Index(Protocol):
    """What a tier keeps of one partition."""

    def apply(self, stored: StoredRecord) -> None:
        """Take over the current state of one record; idempotent, in any order, atomic against searches."""

    def size_bytes(self) -> int:
        """Return about how much memory this holds."""


class Readers(Protocol):
    """Opens readers for the store's current model."""

    async def open(self) -> tuple[Model, PartitionReader]:
        """Return the current model and a reader for it."""


T = TypeVar("T", bound=Index)


@dataclass(slots=True)
class _Held(Generic[T]):
    value: T
    model: Model
    reader: PartitionReader
    position: str


class _Trimmed(Exception):
    """The position is not in the feed any more."""


class Puller(Generic[T]):
    """Holds partitions, most recently used ones first to stay, and brings them up to date on demand.

    One pull per partition runs at a time, in a task of its own: callers wait for it and may leave; it goes on.
    """

    def __init__(self, readers: Readers, factory: Callable[[Model], T], executor: Executor, budget_bytes: int) -> None:
        """Take the store's readers, what makes an empty index, where records are applied, and the memory budget."""
        self._readers = readers
        self._factory = factory
        self._executor = executor
        self._budget = budget_bytes
        self._held: OrderedDict[str, _Held[T]] = OrderedDict()
        self._loading: dict[str, int] = {}
        self._pulls: dict[str, asyncio.Task[T]] = {}
        self._too_large: dict[str, float] = {}
        self._log = structlog.get_logger()
        self.malformed_entries = 0
        self.damaged_records = 0

    async def current(self, partition: str, head: str, seconds: float, model: Model | None = None) -> T:
        """Return the partition's index, holding everything written up to `head`.

        Waits up to `seconds`; `model` is that of the query vector, None without one. Raises PartitionLoading when the
        time is up (the pull goes on), PartitionTooLarge, StoreUnavailable.
        """
        deadline = time.monotonic() + seconds
        joined = False
        while True:
            held = self._held.get(partition)
            if held is not None and held.position == head and model in (None, held.model):
                self._held.move_to_end(partition)
                return held.value
            task = self._pulls.get(partition)
            # A pull that was under way may have read the feed before this caller's head was written; the next one
            # cannot have.
            sufficient = joined or task is None
            if task is None:
                task = self._start(partition, model)
            await asyncio.wait({task}, timeout=max(0.0, deadline - time.monotonic()))
            if not task.done():
                raise PartitionLoading("the partition is being loaded", partition=partition)
            value = task.result()
            if sufficient:
                return value
            joined = True

    def warm(self, partition: str, head: str) -> None:
        """Start catching up with `head` and return at once; failures are met again by the next search."""
        held = self._held.get(partition)
        if (held is None or held.position != head) and partition not in self._pulls:
            self._start(partition, None)

    def held(self) -> list[str]:
        """Return the partitions held, least recently used first."""
        return list(self._held)

    async def close(self) -> None:
        """Stop all pulls."""
        tasks = list(self._pulls.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, partition: str, model: Model | None) -> asyncio.Task[T]:
        task = asyncio.create_task(self._pull(partition, model))
        self._pulls[partition] = task
        task.add_done_callback(lambda done: self._finished(partition, done))
        return task

    def _finished(self, partition: str, task: asyncio.Task[T]) -> None:
        self._pulls.pop(partition, None)
        self._loading.pop(partition, None)
        if not task.cancelled():
            task.exception()  # Marks it as seen: nobody may be waiting any more.

    async def _pull(self, partition: str, model: Model | None) -> T:
        with store_failures():
            try:
                return await self._brought_up(partition, model)
            except (StoreConnectionError, StoreUnavailable):
                # A pooled connection that the store closed meanwhile says so only now; reading again is harmless.
                return await self._brought_up(partition, model)

    async def _brought_up(self, partition: str, model: Model | None) -> T:
        held = self._held.get(partition)
        if held is not None and model not in (None, held.model):
            current, _ = await self._readers.open()
            if current != held.model:
                del self._held[partition]
                held = None
        if held is not None:
            try:
                await self._catch_up(partition, held)
            except _Trimmed:
                self._held.pop(partition, None)
            else:
                self._keep(partition, held)
                return held.value
        return await self._load(partition)

    async def _load(self, partition: str) -> T:
        if time.monotonic() < self._too_large.get(partition, 0.0):
            raise PartitionTooLarge("the partition does not fit into this worker")
        started = time.monotonic()
        current, reader = await self._readers.open()
        for _ in range(LOAD_ATTEMPTS):
            held = _Held(self._factory(current), current, reader, await reader.head(partition))
            if not held.position:
                return held.value  # Never written to: nothing to keep.
            async for page in reader.pages(partition, PAGE):
                await self._apply(partition, held.value, page)
                self._make_room(partition, held.value.size_bytes())
            try:
                await self._catch_up(partition, held)
            except _Trimmed:
                continue
            self._keep(partition, held)
            seconds = round(time.monotonic() - started, 3)
            self._log.info("partition loaded", partition=partition, seconds=seconds, bytes=held.value.size_bytes())
            return held.value
        raise PartitionLoading("the partition changes faster than it can be loaded", partition=partition)

    async def _catch_up(self, partition: str, held: _Held[T]) -> None:
        while True:
            entries = await held.reader.feed_after(partition, held.position, PAGE)
            if entries is None:
                raise _Trimmed
            if not entries:
                return
            malformed = sum(entry.op is None for entry in entries)
            if malformed:
                self.malformed_entries += malformed
                self._log.warning("feed entries not understood", partition=partition, count=malformed)
            ns = _names(entries)
            await self._apply(partition, held.value, await held.reader.fetch(partition, ns))
            held.position = entries[-1].id
            if len(entries) < PAGE:
                return

    async def _apply(self, partition: str, value: T, records: Sequence[StoredRecord]) -> None:
        damaged = [stored.n for stored in records if stored.damaged]
        if damaged:
            self.damaged_records += len(damaged)
            self._log.warning("stored records damaged", partition=partition, count=len(damaged), n=damaged[:NAMED])
        loop = asyncio.get_running_loop()
        for start in range(0, len(records), APPLY_SLICE):
            await loop.run_in_executor(self._executor, _apply_all, value, records[start : start + APPLY_SLICE])

    def _keep(self, partition: str, held: _Held[T]) -> None:
        self._make_room(partition, held.value.size_bytes())
        self._held[partition] = held
        self._held.move_to_end(partition)

    def _make_room(self, partition: str, size: int) -> None:
        if size > self._budget:
            self._held.pop(partition, None)
            self._too_large[partition] = time.monotonic() + TOO_LARGE_SECONDS
            raise PartitionTooLarge("the partition does not fit into this worker")
        self._loading[partition] = size
        for other in list(self._held):
            if self._used(partition) <= self._budget:
                return
            if other != partition:
                del self._held[other]

    def _used(self, partition: str) -> int:
        held = sum(h.value.size_bytes() for p, h in self._held.items() if p != partition)
        return held + sum(self._loading.values())


def _names(entries: Sequence[FeedEntry]) -> list[int]:
    return sorted({entry.n for entry in entries if entry.op is not None})


def _apply_all(value: Index, records: Sequence[StoredRecord]) -> None:
    for stored in records:
        value.apply(stored)
