"""The pull loop against a store that is a fake in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError, ResponseError

from remembrancer.model.errors import PartitionLoading, PartitionTooLarge, StoreUnavailable
from remembrancer.store.feed import FeedEntry, FeedOp
from remembrancer.store.reader import PartitionReader, StoredRecord
from tests.records import record
from tests.unit.index.records import stored
from workers.index.model import Model
from workers.index.pull import Puller

MODEL = Model("m@1", 4)


class FakeStore(PartitionReader):
    """A store with one state per record and a feed; it counts what is read of it."""

    def __init__(self) -> None:
        self.texts: dict[str, dict[int, str]] = {}
        self.damaged: set[int] = set()
        self.feed: dict[str, list[FeedEntry]] = {}
        self.current = MODEL
        self.loads = 0
        self.reads = 0
        self.failure: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def open(self) -> tuple[Model, PartitionReader]:
        return self.current, self

    def write(self, n: int, text: str | None, partition: str = "p", op: FeedOp | None = FeedOp.RECORD) -> str:
        texts, feed = self.texts.setdefault(partition, {}), self.feed.setdefault(partition, [])
        if text is None:
            texts.pop(n, None)
        else:
            texts[n] = text
        feed.append(FeedEntry(f"{len(feed) + 1}-{n}", op, n if op else 0))
        return feed[-1].id

    async def head(self, partition: str) -> str:
        await self._answer()
        feed = self.feed.get(partition)
        return feed[-1].id if feed else ""

    async def pages(self, partition: str, page: int = 1000) -> AsyncIterator[list[StoredRecord]]:
        self.loads += 1
        await self._answer()
        ns = sorted(self.texts.get(partition, {}))
        for start in range(0, len(ns), page):
            yield await self.fetch(partition, ns[start : start + page])

    async def feed_after(self, partition: str, after: str, count: int = 1000) -> list[FeedEntry] | None:
        await self._answer()
        feed = self.feed.get(partition, [])
        at = [i for i, entry in enumerate(feed) if entry.id == after]
        return feed[at[0] + 1 :][:count] if at else None

    async def fetch(self, partition: str, ns: Sequence[int]) -> list[StoredRecord]:
        await self._answer()
        texts = self.texts.get(partition, {})
        return [
            StoredRecord(n, None, None, None, damaged=True)
            if n in self.damaged
            else stored(n, record(texts[n]) if n in texts else None)
            for n in ns
        ]

    async def _answer(self) -> None:
        self.reads += 1
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure


class Texts:
    """The simplest index there is: the texts by N."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.texts: dict[int, str] = {}

    def apply(self, state: StoredRecord) -> None:
        self.texts.pop(state.n, None)
        if state.record is not None:
            self.texts[state.n] = state.record.content

    def size_bytes(self) -> int:
        return sum(map(len, self.texts.values()))


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


@pytest.fixture
async def store() -> FakeStore:
    return FakeStore()


async def until(condition: Callable[[], object]) -> None:
    """Let others run until something holds."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  (the puller has no event for it)
            await asyncio.sleep(0)


def puller(store: FakeStore, executor: ThreadPoolExecutor, budget: int = 10**6) -> Puller[Texts]:
    return Puller(store, Texts, executor, budget)


async def test_c10_a_worker_that_holds_nothing_answers_from_the_whole_store(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    for n in range(1, 2501):
        head = store.write(n, f"text {n}")
    index = await puller(store, executor).current("p", head, 5)
    assert index.texts == store.texts["p"]


async def test_a_write_is_seen_by_the_next_call_and_an_equal_head_reads_nothing(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor)
    await pull.current("p", store.write(1, "one"), 5)
    head = store.write(1, "uno")
    store.write(2, "due")
    assert (await pull.current("p", head, 5)).texts == {1: "uno", 2: "due"}
    newest = store.feed["p"][-1].id
    await pull.current("p", newest, 5)
    reads = store.reads
    await pull.current("p", newest, 5)
    assert store.reads == reads
    assert store.loads == 1


async def test_an_erased_record_goes(store: FakeStore, executor: ThreadPoolExecutor) -> None:
    pull = puller(store, executor)
    await pull.current("p", store.write(1, "one"), 5)
    assert (await pull.current("p", store.write(1, None), 5)).texts == {}


async def test_a_head_older_than_the_position_is_covered(store: FakeStore, executor: ThreadPoolExecutor) -> None:
    pull = puller(store, executor)
    old = store.write(1, "one")
    await pull.current("p", store.write(2, "two"), 5)
    assert (await pull.current("p", old, 5)).texts == {1: "one", 2: "two"}
    assert store.loads == 1


async def test_a_trimmed_feed_leads_to_a_new_load(store: FakeStore, executor: ThreadPoolExecutor) -> None:
    pull = puller(store, executor)
    await pull.current("p", store.write(1, "one"), 5)
    head = store.write(2, "two")
    del store.feed["p"][:-1]
    assert (await pull.current("p", head, 5)).texts == {1: "one", 2: "two"}
    assert store.loads == 2


@pytest.mark.parametrize("head", ["", "1-9"])
async def test_b14_a_store_that_lost_its_data_is_never_answered_for_from_the_old(
    store: FakeStore, executor: ThreadPoolExecutor, head: str
) -> None:
    pull = puller(store, executor)
    await pull.current("p", store.write(1, "one"), 5)
    store.texts.clear()
    store.feed.clear()
    if head:
        store.write(9, "nine")
    assert (await pull.current("p", head, 5)).texts == ({9: "nine"} if head else {})


async def test_a_partition_never_written_to_is_empty_and_not_kept(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor)
    assert (await pull.current("p", "", 5)).texts == {}
    assert pull.held() == []
    assert (await pull.current("p", store.write(1, "one"), 5)).texts == {1: "one"}


async def test_f9_entries_that_are_not_understood_are_counted_and_passed_over(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor)
    await pull.current("p", store.write(1, "one"), 5)
    for n in range(1100):
        store.write(n + 10, "junk", op=None)
    assert (await pull.current("p", store.write(2, "two"), 5)).texts == {1: "one", 2: "two"}
    assert pull.malformed_entries == 1100


async def test_c21_p33_damaged_records_are_counted_and_the_others_taken_in(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor)
    store.damaged = {2}
    store.write(1, "one")
    assert (await pull.current("p", store.write(2, "?"), 5)).texts == {1: "one"}
    assert (await pull.current("p", store.write(2, "?"), 5)).texts == {1: "one"}
    assert pull.damaged_records == 2


async def test_many_callers_share_one_load(store: FakeStore, executor: ThreadPoolExecutor) -> None:
    pull = puller(store, executor)
    head = store.write(1, "one")
    answers = await asyncio.gather(*(pull.current("p", head, 5) for _ in range(50)))
    assert store.loads == 1
    assert all(answer.texts == {1: "one"} for answer in answers)


async def test_a_caller_without_time_is_told_and_the_load_goes_on(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor)
    head = store.write(1, "one")
    store.gate.clear()
    with pytest.raises(PartitionLoading):
        await pull.current("p", head, 0.01)
    store.gate.set()
    assert (await pull.current("p", head, 5)).texts == {1: "one"}
    assert store.loads == 1


async def test_a_cancelled_caller_does_not_stop_the_pull(store: FakeStore, executor: ThreadPoolExecutor) -> None:
    pull = puller(store, executor)
    head = store.write(1, "one")
    store.gate.clear()
    caller = asyncio.create_task(pull.current("p", head, 5))
    await until(lambda: store.reads)
    caller.cancel()
    store.gate.set()
    assert (await pull.current("p", head, 5)).texts == {1: "one"}
    assert store.loads == 1


async def test_a_caller_who_joins_a_pull_still_sees_what_was_written_before_its_call(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor)
    await pull.current("p", store.write(1, "one"), 5)
    fetched, slow = asyncio.Event(), asyncio.Event()
    real = store.fetch

    async def fetch(partition: str, ns: Sequence[int]) -> list[StoredRecord]:
        states = await real(partition, ns)
        fetched.set()
        await slow.wait()
        return states

    store.fetch = fetch  # type: ignore[method-assign]
    first = asyncio.create_task(pull.current("p", store.write(2, "two"), 5))
    await fetched.wait()
    second = asyncio.create_task(pull.current("p", store.write(3, "three"), 5))
    await asyncio.sleep(0)  # it joins the first one's pull
    slow.set()
    await first
    assert (await second).texts == {1: "one", 2: "two", 3: "three"}


async def test_a_store_that_is_down_is_said_so_and_recovery_needs_nothing(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor)
    head = store.write(1, "one")
    store.failure = RedisConnectionError("gone")
    with pytest.raises(StoreUnavailable):
        await pull.current("p", head, 5)
    store.failure = None
    assert (await pull.current("p", head, 5)).texts == {1: "one"}


async def test_the_least_recently_used_partition_makes_room(store: FakeStore, executor: ThreadPoolExecutor) -> None:
    pull = puller(store, executor, budget=100)
    heads = {name: store.write(1, "x" * 40, name) for name in "abc"}
    await pull.current("a", heads["a"], 5)
    await pull.current("b", heads["b"], 5)
    await pull.current("a", heads["a"], 5)
    await pull.current("c", heads["c"], 5)
    assert sorted(pull.held()) == ["a", "c"]


async def test_one_that_cannot_fit_is_refused_without_driving_others_out_again_and_again(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor, budget=100)
    small = store.write(1, "x" * 40, "small")
    await pull.current("small", small, 5)
    big = store.write(1, "x" * 400, "big")
    for _ in range(3):
        with pytest.raises(PartitionTooLarge):
            await pull.current("big", big, 5)
    assert store.loads == 2
    assert pull.held() == ["small"]


async def test_one_that_outgrows_the_budget_is_let_go(store: FakeStore, executor: ThreadPoolExecutor) -> None:
    pull = puller(store, executor, budget=100)
    await pull.current("p", store.write(1, "x" * 40), 5)
    with pytest.raises(PartitionTooLarge):
        await pull.current("p", store.write(2, "x" * 400), 5)
    assert pull.held() == []


async def test_a_new_current_model_leads_to_a_new_load_and_a_foreign_one_does_not(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor)
    head = store.write(1, "one")
    await pull.current("p", head, 5, MODEL)
    await pull.current("p", head, 5, Model("foreign@1", 4))
    assert store.loads == 1
    store.current = Model("m@2", 8)
    assert (await pull.current("p", head, 5, MODEL)).model == MODEL
    assert (await pull.current("p", head, 5, store.current)).model == store.current
    assert store.loads == 2


async def test_warming_loads_ahead_and_survives_a_store_that_is_down(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    pull = puller(store, executor)
    head = store.write(1, "one")
    store.failure = RedisConnectionError("gone")
    pull.warm("p", head)
    with pytest.raises(StoreUnavailable):
        await pull.current("p", head, 5)
    store.failure = None
    pull.warm("p", head)
    await until(pull.held)
    reads = store.reads
    assert (await pull.current("p", head, 5)).texts == {1: "one"}
    assert store.reads == reads


async def test_closing_ends_what_is_under_way(store: FakeStore, executor: ThreadPoolExecutor) -> None:
    pull = puller(store, executor)
    store.gate.clear()
    pull.warm("p", store.write(1, "one"))
    await until(lambda: store.reads)
    await pull.close()
    store.gate.set()
    await asyncio.sleep(0)
    assert pull.held() == []


async def test_a_command_that_the_store_does_not_understand_is_no_outage(
    store: FakeStore, executor: ThreadPoolExecutor
) -> None:
    head = store.write(1, "one")
    pull = puller(store, executor)
    for failure, kind in (
        (ResponseError("wrong number of arguments"), ResponseError),
        (ResponseError("MISCONF the disk is full"), StoreUnavailable),
        (ReadOnlyError("READONLY you cannot write against a replica"), StoreUnavailable),
    ):
        store.failure = failure
        with pytest.raises(kind):
            await pull.current("p", head, 1)
    store.failure = None
    assert (await pull.current("p", head, 1)).texts == {1: "one"}
