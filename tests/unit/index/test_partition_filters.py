"""What a filter lets through, in every arm of the search."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.internal.v1 import store_pb2
from remembrancer.v1 import common_pb2
from tests.records import NOW, record, turn
from tests.unit.index.records import direction, index, request, stored
from workers.index.partition import PartitionIndex

EPISODE = store_pb2.RECORD_KIND_EPISODE


def both_arms(found: PartitionIndex, **filters: Any) -> set[int]:
    """Return what is found by meaning, having checked that words and `visible` agree."""
    by_meaning = {c.n for c in found.search(request("", direction("q"), 100, **filters)).candidates}
    by_words = {c.n for c in found.search(request("word", None, 100, **filters)).candidates}
    visible = found.scorer(request("", **filters)).visible
    assert by_meaning == by_words == {n for n in range(100) if visible(n)}
    return by_meaning


def of_axes(*axes: dict[str, str]) -> PartitionIndex:
    return index(*(stored(n, record("word", axes=each), direction("q")) for n, each in enumerate(axes, 1)))


def test_p11_another_agents_records_are_never_seen() -> None:
    found = of_axes({"agent_id": "a"}, {"agent_id": "b"}, {})
    assert both_arms(found, axes={"agent_id": "a"}) == {1}
    assert both_arms(found, axes={"agent_id": ""}) == {3}
    assert both_arms(found) == {3}


@pytest.mark.parametrize("axis", ["user_id", "conversation_id"])
def test_a_user_or_conversation_matches_exactly_and_empty_filters_nothing(axis: str) -> None:
    found = of_axes({axis: "a"}, {axis: "ab"}, {})
    assert both_arms(found, axes={axis: "a"}) == {1}
    assert both_arms(found, axes={axis: "nobody"}) == set()
    assert both_arms(found, axes={axis: ""}) == {1, 2, 3}


def test_p5_a_project_has_three_states() -> None:
    found = of_axes({"project_id": "A"}, {"project_id": "B"}, {"project_id": ""}, {})
    assert both_arms(found) == {1, 2, 3, 4}
    assert both_arms(found, axes={"project_id": ""}) == {3, 4}
    assert both_arms(found, axes={"project_id": "A"}) == {1, 3, 4}
    assert both_arms(found, axes={"project_id": "new"}) == {3, 4}


def test_p8_a_channel_shows_its_own_and_those_without() -> None:
    found = of_axes({"channel": "c1"}, {"channel": "c2"}, {})
    assert both_arms(found, axes={"channel": "c1"}) == {1, 3}
    assert both_arms(found, axes={"channel": ""}) == {1, 2, 3}


def test_p9_a_source_is_a_literal_prefix_and_leaves_episodes_out_unless_a_channel_is_set() -> None:
    found = index(
        stored(1, record("word", axes={"source_id": "u1"}), direction("q")),
        stored(2, record("word", axes={"source_id": "u1%x"}), direction("q")),
        stored(3, record("word", axes={"source_id": "u2"}), direction("q")),
        stored(4, record("word", EPISODE, axes={"source_id": "u1", "channel": "c1"}), direction("q")),
        # T25: what only holds the prefix does not begin with it.
        stored(5, record("word", axes={"source_id": "xu1"}), direction("q")),
    )
    assert both_arms(found, axes={"source_id": "u1"}) == {1, 2}
    assert both_arms(found, axes={"source_id": "u1%"}) == {2}
    assert both_arms(found, axes={"source_id": "u1", "channel": "c1"}) == {1, 2, 4}


def test_kinds_and_types() -> None:
    found = index(
        stored(1, record("word", type=common_pb2.MEMORY_TYPE_FACT), direction("q")),
        stored(2, record("word", type=common_pb2.MEMORY_TYPE_LESSON), direction("q")),
        stored(3, turn("word"), direction("q")),
        stored(4, record("word", EPISODE), direction("q")),
        stored(5, record("word", store_pb2.RECORD_KIND_PROCEDURE), direction("q")),
    )
    assert both_arms(found) == {1, 2, 3, 4}
    assert both_arms(found, kinds=[common_pb2.MEMORY_KIND_TURN, common_pb2.MEMORY_KIND_EPISODE]) == {3, 4}
    assert both_arms(found, types=[common_pb2.MEMORY_TYPE_LESSON]) == {2}


def test_time_bounds_are_inclusive() -> None:
    found = index(*(stored(n, record("word", occurred=NOW + n), direction("q")) for n in (1, 2, 3)))
    at = {n: Timestamp(seconds=NOW + n) for n in (1, 2, 3)}
    assert both_arms(found, occurred_after=at[2]) == {2, 3}
    assert both_arms(found, occurred_before=at[2]) == {1, 2}
    assert both_arms(found, occurred_after=at[2], occurred_before=at[2]) == {2}


def test_e7_a_time_bound_holds_to_the_nanosecond() -> None:
    states = [stored(n, record("word", occurred=NOW), direction("q")) for n in (1, 2, 3)]
    for state, nanos in zip(states, (123_456_100, 123_456_200, 123_456_300), strict=True):
        assert state.record is not None
        state.record.occurred_at.nanos = nanos
    found, bound = index(*states), Timestamp(seconds=NOW, nanos=123_456_200)
    assert both_arms(found, occurred_after=bound) == {2, 3}
    assert both_arms(found, occurred_before=bound) == {1, 2}


def test_e7_the_widest_times_can_be_stored_and_compared() -> None:
    first, last = -62135596800, 253402300799
    found = index(
        stored(1, record("word", occurred=first), direction("q")),
        stored(2, record("word", occurred=last), direction("q")),
    )
    assert both_arms(found, occurred_before=Timestamp(seconds=first)) == {1}
    assert both_arms(found, occurred_after=Timestamp(seconds=last)) == {2}


def test_s14_stale_records_are_hidden_and_superseded_ones_shown_when_asked() -> None:
    stale = common_pb2.MEMORY_STATUS_STALE
    reasons = (
        common_pb2.STALE_REASON_SUPERSEDED,
        common_pb2.STALE_REASON_OUTDATED,
        common_pb2.STALE_REASON_CONTRADICTED,
        common_pb2.STALE_REASON_WITHDRAWN,
    )
    found = index(
        *(stored(n, record("word", status=stale, stale_reason=why), direction("q")) for n, why in enumerate(reasons, 1))
    )
    assert both_arms(found) == set()
    assert not found.search(request()).any_live
    assert both_arms(found, include_superseded=True) == {1, 2}


def test_a14_a_filtered_answer_is_part_of_the_unfiltered_one() -> None:
    found = of_axes(*({"user_id": f"u{n % 3}", "channel": f"c{n % 2}"} for n in range(12)))
    everything = both_arms(found)
    for user in ("u0", "u1", "u2"):
        part = both_arms(found, axes={"user_id": user, "channel": "c1"})
        assert part
        assert part < everything


def test_visible_answers_for_unknown_records() -> None:
    says = of_axes({}).scorer(request()).visible
    assert says(1)
    assert not says(99)
