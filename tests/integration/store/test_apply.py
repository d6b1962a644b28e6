"""The apply script against a real Valkey: a change happens as a whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest
from redis.exceptions import ResponseError

from remembrancer.model.errors import StoreDamaged, StoreUnavailable
from remembrancer.store.change import Change, Numbers, Replay, StoreTime
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied, Conflicted, PartitionStore, Read, Replayed, fields_at, members_at

Require = Callable[[Change, str], None]

HOLDS: dict[str, Require] = {
    "same": lambda c, k: c.require_same("x", k, "f", b"\x00v\xff"),
    "same, absent": lambda c, k: c.require_same("x", k, "g", None),
    "same, no key": lambda c, k: c.require_same("x", f"{k}:no", "g", None),
    "recent": lambda c, k: c.require_recent("x", k, "now", 60_000),
    "below": lambda c, k: c.require_below("x", k, "five", 6),
    "below, absent": lambda c, k: c.require_below("x", k, "none", 1),
    "present": lambda c, k: c.require_present("x", k, "f"),
    "count of a list": lambda c, k: c.require_count("x", f"{k}:list", "LLEN", 2),
    "count of a set": lambda c, k: c.require_count("x", f"{k}:set", "SCARD", 1),
    "count of a sorted set": lambda c, k: c.require_count("x", f"{k}:zset", "ZCARD", 3),
    "count, no key": lambda c, k: c.require_count("x", f"{k}:no", "ZCARD", 0),
}
FAILS: dict[str, Require] = {
    "same": lambda c, k: c.require_same("x", k, "f", b"\x00v"),
    "same, but absent": lambda c, k: c.require_same("x", k, "g", b""),
    "same, but present": lambda c, k: c.require_same("x", k, "f", None),
    "recent": lambda c, k: c.require_recent("x", k, "old", 60_000),
    "recent, absent": lambda c, k: c.require_recent("x", k, "none", 60_000),
    "below": lambda c, k: c.require_below("x", k, "five", 5),
    "present": lambda c, k: c.require_present("x", k, "g"),
    "present, no key": lambda c, k: c.require_present("x", f"{k}:no", "g"),
    "count of a list": lambda c, k: c.require_count("x", f"{k}:list", "LLEN", 1),
    "count of a set": lambda c, k: c.require_count("x", f"{k}:set", "SCARD", 0),
    "count of a sorted set": lambda c, k: c.require_count("x", f"{k}:zset", "ZCARD", 4),
}


@pytest.fixture
async def filled(redis: Any, store: PartitionStore, keys: PartitionKeys) -> str:
    key = keys.session("conditions")
    seconds, _ = await redis.time()
    now = seconds * 1000
    await redis.hset(key, mapping={"f": b"\x00v\xff", "five": 5, "now": now, "old": now - 120_000})
    await redis.rpush(f"{key}:list", "a", "b")
    await redis.sadd(f"{key}:set", "a")
    await redis.zadd(f"{key}:zset", {"a": 1, "b": 1, "c": 2})
    return key


@pytest.mark.parametrize("name", HOLDS)
async def test_a_condition_that_holds(store: PartitionStore, keys: PartitionKeys, filled: str, name: str) -> None:
    change = Change(keys)
    HOLDS[name](change, filled)
    assert isinstance(await store.apply(change), Applied)


@pytest.mark.parametrize("name", FAILS)
async def test_a_condition_that_does_not_hold_leaves_everything_as_it_was(
    redis: Any, store: PartitionStore, keys: PartitionKeys, filled: str, name: str
) -> None:
    before = await redis.dbsize()
    change = Change(keys)
    change.require_present("holds", filled, "f")
    FAILS[name](change, filled)
    change.write("HSET", filled, "written", "yes")
    change.write("SET", keys.continuity("new"), "yes")
    change.announce(FeedOp.RECORD, change.allocate())
    change.replay = Replay(keys.replay("c", "R", "1"), b"body", b"answer", 60_000)
    outcome = await store.apply(change)
    assert isinstance(outcome, Conflicted)
    assert outcome.label == "x"
    assert outcome.now_ms > 0
    assert not await redis.hexists(filled, "written")
    assert not await redis.exists(keys.continuity("new"), keys.feed, keys.meta, change.replay.key)
    assert await redis.dbsize() == before


async def test_numbers_are_allocated_in_order_and_known_after(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    bases = []
    for _ in range(2):
        change = Change(keys)
        first, second = change.allocate(), change.allocate()
        change.write("HSET", keys.records, first, b"one")
        change.write("HSET", keys.records, second, b"two")
        change.write("HSET", keys.duplicates, "d", Numbers("7,8", (first, second)))
        change.write("HSET", keys.duplicates, "e", Numbers("", (second,)))
        applied = await store.apply(change)
        assert isinstance(applied, Applied)
        bases.append(applied.base)
        assert second.number(applied.base) == applied.base + 2
    assert bases == [0, 2]
    assert await redis.hgetall(keys.records) == {b"1": b"one", b"2": b"two", b"3": b"one", b"4": b"two"}
    assert await redis.hgetall(keys.duplicates) == {b"d": b"7,8,3,4", b"e": b"4"}


async def test_parallel_changes_never_share_a_number(redis: Any, store: PartitionStore, keys: PartitionKeys) -> None:
    async def one(i: int) -> None:
        change = Change(keys)
        change.write("HSET", keys.records, change.allocate(), str(i))
        await store.apply(change)

    await asyncio.gather(*(one(i) for i in range(200)))
    records = await redis.hgetall(keys.records)
    assert sorted(map(int, records)) == list(range(1, 201))
    assert sorted(map(int, records.values())) == list(range(200))


async def test_of_rivals_for_one_state_one_wins(redis: Any, store: PartitionStore, keys: PartitionKeys) -> None:
    key = keys.session("rivals")
    await redis.hset(key, "state", "open")

    async def end(i: int) -> Applied | Replayed | Conflicted:
        change = Change(keys)
        change.require_same("state", key, "state", b"open")
        change.write("HSET", key, "state", f"ended by {i}")
        return await store.apply(change)

    outcomes = await asyncio.gather(*(end(i) for i in range(100)))
    assert sum(isinstance(outcome, Applied) for outcome in outcomes) == 1


async def test_the_feed_grows_in_order_and_its_newest_id_is_the_head(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    heads = []
    for n in range(3):
        change = Change(keys)
        new = change.allocate()
        change.write("HSET", keys.records, new, b"r")
        change.announce(FeedOp.RECORD, new)
        change.announce(FeedOp.LEARNED, n + 100)
        applied = await store.apply(change)
        assert isinstance(applied, Applied)
        heads.append(applied.head)
        assert (await redis.hget(keys.meta, "head")).decode() == applied.head
    entries = await redis.xrange(keys.feed)
    assert [int(entry.split(b"-")[0]) for entry, _ in entries] == list(range(1, 7))
    assert [fields[b"n"] for _, fields in entries] == [b"1", b"100", b"2", b"101", b"3", b"102"]
    assert [fields[b"op"] for _, fields in entries[:2]] == [b"r", b"l"]
    assert [entry.decode() for entry, _ in entries[1::2]] == heads


async def test_t25_the_feed_is_trimmed_to_its_newest_entries(
    redis: Any, store: PartitionStore, keys: PartitionKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remembrancer.store.change.FEED_KEEP", 200)
    head = ""
    for start in range(0, 2000, 500):
        change = Change(keys)
        for n in range(start, start + 500):
            change.announce(FeedOp.RECORD, n)
        applied = await store.apply(change)
        assert isinstance(applied, Applied)
        head = applied.head
        # The store drops whole blocks of 100 entries.
        assert 200 <= await redis.xlen(keys.feed) <= 300
    entries = await redis.xrange(keys.feed)
    assert entries[-1][0].decode() == head
    assert [int(fields[b"n"]) for _, fields in entries] == list(range(2000 - len(entries), 2000))


async def test_a_change_that_announces_nothing_leaves_the_head(store: PartitionStore, keys: PartitionKeys) -> None:
    change = Change(keys)
    change.write("SET", keys.continuity("x"), "y")
    assert await store.apply(change) == Applied(now_ms=ANY, base=0, head="")


async def test_a_request_seen_before_gets_the_first_answer_even_when_conditions_fail_by_now(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    def change(answer: bytes) -> Change:
        made = Change(keys)
        made.require_same("absent", keys.session("s"), "state", None)
        made.write("HSET", keys.session("s"), "state", "made")
        made.write("HINCRBY", keys.session("s"), "times", 1)
        made.allocate()
        made.replay = Replay(keys.replay("caller", "Rpc", "id"), b"\x00body\xff", answer, 60_000)
        return made

    assert isinstance(await store.apply(change(b"\x00first\xff")), Applied)
    again = await store.apply(change(b"second"))
    assert again == Replayed(ANY, b"\x00body\xff", b"\x00first\xff", 0)
    assert await redis.hget(keys.session("s"), "times") == b"1"
    assert 0 < await redis.pttl(keys.replay("caller", "Rpc", "id")) <= 60_000


async def test_the_same_request_many_times_at_once_happens_once(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    async def one() -> Applied | Replayed | Conflicted:
        change = Change(keys)
        change.write("HINCRBY", keys.session("s"), "times", 1)
        change.replay = Replay(keys.replay("caller", "Rpc", "id"), b"body", b"answer", 60_000)
        return await store.apply(change)

    outcomes = await asyncio.gather(*(one() for _ in range(50)))
    assert sum(isinstance(outcome, Applied) for outcome in outcomes) == 1
    assert all(isinstance(outcome, Applied) or outcome.answer == b"answer" for outcome in outcomes)  # type: ignore[union-attr]
    assert await redis.hget(keys.session("s"), "times") == b"1"


async def test_bytes_travel_unchanged(redis: Any, store: PartitionStore, keys: PartitionKeys) -> None:
    everything = bytes(range(256)) * 300
    change = Change(keys)
    change.write("HSET", keys.records, 1, everything)
    await store.apply(change)
    assert await redis.hget(keys.records, "1") == everything
    guarded = Change(keys)
    guarded.require_same("record", keys.records, "1", everything)
    assert isinstance(await store.apply(guarded), Applied)
    assert (await store.read(("HGET", keys.records, "1"))).answers == [everything]


async def test_store_time_is_the_store_s_own(redis: Any, store: PartitionStore, keys: PartitionKeys) -> None:
    change = Change(keys)
    change.write("HSET", keys.session("s"), "active", StoreTime())
    applied = await store.apply(change)
    assert int(await redis.hget(keys.session("s"), "active")) == applied.now_ms
    seconds, micros = await redis.time()
    assert abs(seconds * 1000 + micros // 1000 - applied.now_ms) < 5_000


async def test_a_large_change_is_one_change_too(redis: Any, store: PartitionStore, keys: PartitionKeys) -> None:
    change = Change(keys)
    for i in range(5000):
        n = change.allocate()
        change.write("HSET", keys.records, n, str(i))
        change.announce(FeedOp.RECORD, n)
    assert isinstance(await store.apply(change), Applied)
    assert await redis.hlen(keys.records) == await redis.xlen(keys.feed) == 5000


async def test_scripts_that_the_store_forgot_are_sent_again(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    for _ in range(2):
        await redis.script_flush()
        change = Change(keys)
        change.write("HINCRBY", keys.session("s"), "times", 1)
        assert isinstance(await store.apply(change), Applied)
        assert (await store.read(("HGET", keys.session("s"), "times"))).now_ms > 0
    assert await redis.hget(keys.session("s"), "times") == b"2"


async def test_reads_of_one_call_come_from_one_moment(redis: Any, store: PartitionStore, keys: PartitionKeys) -> None:
    """Two fields that are always written together never differ."""
    stop = asyncio.Event()

    async def write() -> None:
        i = 0
        while not stop.is_set():
            i += 1
            change = Change(keys)
            change.write("HSET", keys.session("a"), "v", i)
            change.write("HSET", keys.session("b"), "v", i)
            await store.apply(change)

    writing = asyncio.create_task(write())
    for _ in range(80):
        snapshot = await store.read(("HGET", keys.session("a"), "v"), ("HGET", keys.session("b"), "v"))
        assert snapshot.answers[0] == snapshot.answers[1]
    stop.set()
    await writing


async def test_a_mistake_of_ours_is_not_taken_for_an_outage(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    change = Change(keys)
    change.write("HSET", keys.records, "1", b"r")
    change.write("LPUSHX", keys.continuity("x"), "v")
    with pytest.raises(ResponseError):
        await store.apply(change)
    assert not await redis.exists(keys.records)


def every_write(keys: PartitionKeys) -> Change:
    """Return a change with each kind of write, each on a key of its own, that takes hold from the first one on."""
    change = Change(keys)
    change.require_same("absent", keys.session("same"), "f", None)
    change.require_count("none", keys.retrievals("count"), "LLEN", 0)
    n = change.allocate()
    change.write("HSET", keys.learned, n, b"l")
    change.write("HDEL", keys.duplicates, "gone")
    change.write("HINCRBY", keys.counts, "1", 1)
    change.write("SADD", keys.unembedded, n)
    change.write("SREM", keys.behind, "7")
    change.write("ZADD", keys.uncovered("l"), 0, "key")
    change.write("ZREM", keys.sessions_of("c"), "gone")
    change.write("RPUSH", keys.written("l"), n)
    change.write("LREM", keys.retrievals("l"), 0, "gone")
    change.write("SET", keys.continuity("x"), "y")
    change.announce(FeedOp.RECORD, n)
    change.replay = Replay(keys.replay("c", "R", "1"), b"body", b"answer", 60_000)
    return change


async def held(redis: Any, keys: PartitionKeys) -> dict[bytes, bytes]:
    """Return every key of a partition with its value, as the store serialises it."""
    return {key: await redis.dump(key) async for key in redis.scan_iter(match=f"rm:{{{keys.partition}}}*", count=5000)}


async def test_t6_a_key_of_a_wrong_type_at_any_position_keeps_every_write_back(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    names, _ = every_write(keys).packed()
    for name in set(names) - {keys.continuity("x")}:  # What is set there may replace anything.
        await redis.delete(*names)
        await redis.set(name, "text")
        before = await held(redis, keys)
        with pytest.raises(StoreDamaged):
            await store.apply(every_write(keys))
        assert await held(redis, keys) == before, name


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("counts", "1", "many"),
        ("counts", "1", "007"),
        ("counts", "1", "9" * 18),
        ("meta", "n", "x"),
        ("meta", "f", "-1"),
    ],
)
async def test_t6_a_damaged_number_keeps_every_write_back(
    redis: Any, store: PartitionStore, keys: PartitionKeys, kind: str, field: str, value: str
) -> None:
    await redis.hset(getattr(keys, kind), field, value)
    before = await held(redis, keys)
    with pytest.raises(StoreDamaged):
        await store.apply(every_write(keys))
    assert await held(redis, keys) == before


async def test_t6_a_feed_that_is_ahead_of_its_counter_keeps_every_write_back(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    await redis.xadd(keys.feed, {"op": "r", "n": 1}, id="5-1")
    before = await held(redis, keys)
    with pytest.raises(StoreDamaged):
        await store.apply(every_write(keys))
    assert await held(redis, keys) == before


async def test_t6_a_condition_on_a_damaged_value_does_not_hold(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    await redis.hset(keys.session("s"), mapping={"active": "long ago", "count": "some"})
    change = Change(keys)
    change.require_recent("x", keys.session("s"), "active", 60_000)
    assert isinstance(await store.apply(change), Conflicted)
    change = Change(keys)
    change.require_below("x", keys.session("s"), "count", 5)
    with pytest.raises(StoreDamaged):
        await store.apply(change)


async def test_t6_a_store_out_of_memory_does_nothing_of_a_change(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    """A deletion would be carried out, and the write after it refused."""
    await redis.hset(keys.counts, mapping={"1": 1, "2": 2})
    change = Change(keys)
    change.write("HDEL", keys.counts, "1")
    change.write("HSET", keys.counts, "3", "3")
    await store.read(("HLEN", keys.counts))
    await redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreUnavailable):
            await store.apply(change)
    finally:
        await redis.config_set("maxmemory", 0)
    assert await redis.hgetall(keys.counts) == {b"1": b"1", b"2": b"2"}


async def test_t39_a_read_of_a_key_of_a_wrong_type_is_one_of_an_absent_key(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    reads: list[Read] = [
        fields_at(keys.counts, (1, 2)),
        members_at(keys.unembedded, (1, 2)),
        ("HGET", keys.learned, "1"),
        ("HGETALL", keys.speakers),
        ("HKEYS", keys.erasures),
        ("LRANGE", keys.written("l"), "0", "-1"),
        ("SMEMBERS", keys.used_procedures("l")),
        ("ZCARD", keys.uncovered("l")),
        ("ZRANGE", keys.sessions_of("c"), "0", "-1"),
        ("GET", keys.erased("e")),
    ]
    absent = (await store.read(*reads)).answers
    for read in reads:
        await (redis.lpush(read[1], "x") if read[0] in ("GET", "LLEN") else redis.set(read[1], "text"))
    assert (await store.read(*reads)).answers == absent
    for key in (keys.records, keys.meta):
        await redis.set(key, "text")
        with pytest.raises(StoreDamaged):
            await store.read(("HGET", key, "1"))


async def test_a_read_takes_however_many_names(redis: Any, store: PartitionStore, keys: PartitionKeys) -> None:
    ns = range(1, 20_001)
    there = {n for n in ns if n % 3}
    await redis.hset(keys.records, mapping={n: f"v{n}" for n in there})
    await redis.sadd(keys.unembedded, *there)
    snapshot = await store.read(
        fields_at(keys.records, ns),
        ("HLEN", keys.records),
        members_at(keys.unembedded, ns),
        fields_at(keys.records, ()),
    )
    values, count, waiting, none = snapshot.answers
    assert values == [b"v%d" % n if n in there else None for n in ns]
    assert (count, none) == (len(there), [])
    assert waiting == [int(n in there) for n in ns]
