"""Changes as they are packed for the script, and the names under which sessions are listed."""

from __future__ import annotations

from typing import Any

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.model.ids import SessionRef, new_token
from remembrancer.store.change import Change, Numbers, Replay, StoreTime
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.store.sessions import listed, listing

KEYS = PartitionKeys(partition_of("test:change"))
MOMENTS = st.integers(0, 10**15 - 1)


def plan(change: Change) -> tuple[list[str], Any]:
    keys, raw = change.packed()
    return keys, msgpack.unpackb(raw, raw=True)


def test_every_key_is_named_once_and_all_are_of_one_partition() -> None:
    change = Change(KEYS, Replay(KEYS.replay("c", "R", "1"), b"body", b"answer", 5))
    for _ in range(2):
        change.require_present("x", KEYS.learned, "1")
        change.write("HSET", KEYS.learned, "1", b"r")
        change.write("SADD", KEYS.used_procedures("l"), 1)
    keys, packed = plan(change)
    assert len(keys) == len(set(keys)) == 5  # learned, used, meta, feed, request
    assert all(f"{{{KEYS.partition}}}" in key for key in keys)
    assert [keys[write[1] - 1] for write in packed[b"writes"]] == [KEYS.learned, KEYS.used_procedures("l")] * 2


def test_what_is_not_known_yet_is_packed_as_what_it_will_be() -> None:
    change = Change(KEYS)
    first, second = change.allocate(), change.allocate()
    change.write("HSET", KEYS.learned, second, StoreTime())
    change.write("HSET", KEYS.duplicates, "d", Numbers("4", (first, second)))
    change.announce(FeedOp.RECORD, first)
    change.announce(FeedOp.LEARNED, 7)
    _, packed = plan(change)
    assert packed[b"allocate"] == 2
    assert packed[b"writes"][0][2:] == [{b"n": 2}, {b"t": 1}]
    assert packed[b"writes"][1][2:] == [b"d", {b"known": b"4", b"numbers": [1, 2]}]
    assert packed[b"feed"] == [[b"r", {b"n": 1}], [b"l", b"7"]]
    assert second.number(40) == 42


def test_a_failed_condition_is_known_by_its_label() -> None:
    change = Change(KEYS)
    change.require_same("state", KEYS.session("l"), "state", b"open")
    change.require_count("uncovered", KEYS.uncovered("l"), "ZCARD", 0)
    assert [change.label(1), change.label(2)] == ["state", "uncovered"]


@given(MOMENTS, MOMENTS)
def test_the_order_of_listed_names_is_the_order_of_opening(one: int, other: int) -> None:
    refs = [SessionRef(KEYS.partition, new_token()) for _ in range(2)]
    names = [listing(ref, moment) for ref, moment in zip(refs, (one, other), strict=True)]
    assert listed(KEYS.partition, names[0]) == (refs[0], one)
    if one != other:
        assert (names[0] < names[1]) == (one < other)


def test_other_texts_are_no_entries() -> None:
    for odd in ("", "1-a", f"{0:015d}", f"{0:015d}-{'A' * 16}", f"{0:015d}-{'a' * 16}\n"):
        assert listed(KEYS.partition, odd) is None
