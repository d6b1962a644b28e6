"""The order of turns against a plain model."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records import NOW, record, turn
from workers.index.turns import PAUSE_US, Turns


def test_turns_of_one_conversation_are_linked_by_n_whatever_the_order_they_came_in() -> None:
    turns = Turns()
    for slot, n in enumerate((30, 10, 20)):
        turns.add(slot, n, turn("x"))
    assert turns.before.tolist() == [2, -1, 1]
    assert turns.after.tolist() == [-1, 2, 0]


def test_statements_and_other_conversations_stand_apart() -> None:
    turns = Turns()
    turns.add(0, 1, turn("x", conversation="a"))
    turns.add(1, 2, record("x"))
    turns.add(2, 3, turn("x", conversation="b"))
    turns.add(3, 4, turn("x", conversation="a", axes={"user_id": "other"}))
    assert turns.before.tolist() == turns.after.tolist() == [-1, -1, -1, -1]


def test_without_a_conversation_the_session_binds_turns() -> None:
    turns = Turns()
    for slot, session in enumerate(("s1", "s1", "s2")):
        turns.add(slot, slot + 1, turn("x", conversation="", session_id=session))
    assert turns.before.tolist() == [-1, 0, -1]


def test_a_long_pause_parts_turns_unless_a_time_is_uncertain() -> None:
    later = NOW + 2 * PAUSE_US // 1_000_000
    turns = Turns()
    turns.add(0, 1, turn("x"))
    turns.add(1, 2, turn("x", occurred=later))
    turns.add(2, 3, turn("x", occurred=NOW, time_uncertain=True))
    assert turns.before.tolist() == [-1, -1, 1]


@given(st.lists(st.tuples(st.integers(1, 12), st.sampled_from("ab")), max_size=40), st.booleans())
@settings(deadline=None)
def test_adding_moving_and_removing_keep_the_chain_whole(steps: list[tuple[int, str]], compact: bool) -> None:
    turns = Turns()
    slots: dict[int, tuple[int, str]] = {}
    for n, conversation in steps:
        if n in slots:
            turns.remove(slots.pop(n)[0])
        else:
            slot = len(turns.before)
            turns.add(slot, n, turn("x", conversation=conversation))
            slots[n] = (slot, conversation)
    if compact:
        alive = np.zeros(len(turns.before), np.bool_)
        alive[[slot for slot, _ in slots.values()]] = True
        turns.keep(alive)
        moved = np.cumsum(alive) - 1
        slots = {n: (int(moved[slot]), conversation) for n, (slot, conversation) in slots.items()}
    for name in "ab":
        chain = [slot for _, (slot, conversation) in sorted(slots.items()) if conversation == name]
        for first, second in zip([-1, *chain], [*chain, -1], strict=True):
            assert first < 0 or turns.after[first] == second
            assert second < 0 or turns.before[second] == first
