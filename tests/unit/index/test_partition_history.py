"""No answer depends on how an index came to be: order, repetition, former states and compaction leave no trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.internal.v1 import store_pb2
from remembrancer.store.reader import StoredRecord
from tests.records import record, turn
from tests.unit.index.records import direction, index, near, request, state_of, stored
from workers.index import partition as partition_module

WORDS = ("cat", "dog", "house", "bug-183", "猫", "Lisbon")
QUERIES = (
    request("cat in Lisbon", direction("q")),
    request("bug-183"),
    request("猫 dog", direction("v1"), 3),
    request("house", direction("q"), axes={"user_id": "u1"}),
)


@st.composite
def states(draw: st.DrawFn) -> StoredRecord:
    """Draw a state of one of eight records: a turn or a statement, erased at times, at times without vector."""
    n = draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["turn", "fact", "erased"]))
    if kind == "erased":
        return stored(n, None)
    content = " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=4)))
    axes = {"user_id": draw(st.sampled_from(["", "u1"]))}
    made = turn(content, axes=axes) if kind == "turn" else record(content, axes=axes)
    windows = draw(st.integers(0, 2))
    vectors = np.stack([near("q", 0.4, f"v{draw(st.integers(0, 3))}") for _ in range(windows)]) if windows else None
    return stored(n, made, vectors, store_pb2.Learned(helped=draw(st.integers(0, 2))))


@given(history=st.lists(states(), max_size=30), eight_bit=st.booleans(), compact=st.booleans(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_b13_c4_the_last_state_of_each_record_is_all_that_counts(
    history: list[StoredRecord], eight_bit: bool, compact: bool, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_module, "COMPACT_DEAD", 1 if compact else 10**9)
        grown = index(*history, eight_bit=eight_bit)
    last = {state.n: state for state in history}
    fresh = index(*data.draw(st.permutations(list(last.values()))), eight_bit=eight_bit)
    for wanted in QUERIES:
        assert state_of(grown, wanted) == state_of(fresh, wanted)


def test_compaction_gives_dead_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_module, "COMPACT_DEAD", 50)
    once = index(*(stored(n, turn(f"text {n}"), direction(f"v{n}")) for n in range(1, 101)))
    often = index()
    for version in range(20):
        for n in range(1, 101):
            final = version == 19
            text, name = (f"text {n}", f"v{n}") if final else (f"draft {version} {n}", f"w{version}")
            often.apply(stored(n, turn(text), direction(name)))
    assert often.size_bytes() < 2 * once.size_bytes()
    wanted = request("text 7", direction("v7"))
    assert state_of(often, wanted) == state_of(once, wanted)


def test_equal_scores_are_ordered_by_n() -> None:
    found = index(*(stored(n, record("same"), direction("q")) for n in (9, 3, 7, 1)))
    assert [n for n, _, _ in state_of(found, request("same", direction("q")))] == [1, 3, 7, 9]


def test_the_same_state_again_costs_no_memory() -> None:
    found = index(*(stored(n, record(f"text {n}"), direction(f"v{n}")) for n in range(1, 101)))
    before = found.size_bytes()
    for _ in range(30):
        found.apply(stored(1, record("text 1"), direction("v1"), store_pb2.Learned(helped=1)))
    assert found.size_bytes() == before
