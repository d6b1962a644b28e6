from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.internal.v1 import tier_pb2
from remembrancer.store.reader import StoredRecord
from tests.records import NOW
from tests.unit.deep.records import graph_of, stored
from workers.deep.graph import Graph, View
from workers.deep.spread import HOPS, REACHED, Reached, Step, spread

EVERYTHING = View(lambda _: True, NOW)


def reach(graph: Graph, seeds: dict[int, float], view: View = EVERYTHING) -> dict[int, Reached]:
    return spread(graph, view, seeds, lambda: None)


def test_a_record_is_reached_through_the_entity_it_shares_with_a_seed() -> None:
    graph = graph_of(stored(1, "Dana", "Biscuit"), stored(2, "Biscuit"), stored(3, "Rome"))
    found = reach(graph, {1: 0.6})
    assert set(found) == {2}
    assert found[2].seed == 1
    assert found[2].path == (Step(tier_pb2.EDGE_KIND_SHARES_ENTITY, 1, "ent_biscuit"),)
    assert 0.0 < found[2].activation < 0.6


def test_a_path_of_two_steps_starts_at_the_seed() -> None:
    graph = graph_of(stored(1, "Biscuit"), stored(2, "Biscuit", "Vet"), stored(3, "Vet"))
    found = reach(graph, {1: 0.8})
    assert [(step.source, step.entity_id) for step in found[3].path] == [(1, "ent_biscuit"), (2, "ent_vet")]
    assert found[3].activation < found[2].activation


def test_nothing_is_reached_beyond_the_last_hop() -> None:
    chain = [stored(n, f"E{n}", f"E{n + 1}") for n in range(1, HOPS + 4)]
    assert set(reach(graph_of(*chain), {1: 1.0})) == set(range(2, HOPS + 2))


def test_hidden_records_are_not_walked_through() -> None:
    graph = graph_of(stored(1, "Biscuit"), stored(2, "Biscuit", "Vet"), stored(3, "Vet"))
    assert reach(graph, {1: 0.8}, View(lambda n: n != 2, NOW)) == {}


def test_two_ways_count_more_than_one_and_never_more_than_the_seed() -> None:
    one = reach(graph_of(stored(1, "A"), stored(2, "A")), {1: 0.3})
    two = reach(graph_of(stored(1, "A", "B"), stored(2, "A", "B")), {1: 0.3})
    many = reach(graph_of(*(stored(n, *"ABCDEFGH") for n in (1, 2))), {1: 0.3})
    assert one[2].activation < two[2].activation
    assert many[2].activation == 0.3


def test_a_weak_seed_is_reached_by_a_strong_one_and_not_the_other_way_round() -> None:
    found = reach(graph_of(stored(1, "A"), stored(2, "A")), {1: 0.8, 2: 0.1})
    assert set(found) == {2}


def test_a_stronger_way_found_later_replaces_a_weak_one() -> None:
    graph = graph_of(stored(1, "A"), stored(2, "A", "B"), stored(3, "B"))
    alone = reach(graph, {1: 0.8})[3]
    beside_a_weak_seed = reach(graph, {1: 0.8, 2: 0.1})[3]
    assert beside_a_weak_seed.path == alone.path
    assert beside_a_weak_seed.activation == alone.activation


def test_a_path_leads_through_an_entity_once() -> None:
    graph = graph_of(*(stored(n, "A") for n in range(1, 6)), stored(6, "A", "B"), stored(7, "B"))
    paths = [[step.entity_id for step in found.path] for found in reach(graph, {1: 1.0}).values()]
    assert ["ent_a", "ent_b"] in paths
    assert ["ent_a", "ent_a"] not in paths


def test_neighbours_of_one_sort_count_once() -> None:
    def activation(seeds: int) -> float:
        graph = graph_of(*(stored(n, session="s", turn=False) for n in range(1, 7)))
        return reach(graph, dict.fromkeys(range(1, 1 + seeds), 0.8))[6].activation

    assert activation(5) == activation(1)


def test_a_hub_does_not_flood_the_answer() -> None:
    graph = graph_of(*(stored(n, "Dana") for n in range(1, 61)), stored(61, "Dana", "Biscuit"), stored(62, "Biscuit"))
    assert set(reach(graph, {61: 0.6})) == {62}


def test_a_dense_graph_stays_bounded() -> None:
    names = [f"E{i}" for i in range(12)]
    graph = graph_of(*(stored(n, *names, conversation="c", session="s") for n in range(1, 400)))
    assert 0 < len(reach(graph, dict.fromkeys(range(1, 40), 1.0))) <= REACHED


def test_a_cancelled_search_stops_before_the_next_round() -> None:
    def cancelled() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        spread(graph_of(stored(1, "A"), stored(2, "A")), EVERYTHING, {1: 1.0}, cancelled)


RECORDS = st.lists(
    st.builds(
        lambda n, names, conversation, used: stored(n, *names, conversation=conversation, used_with=used),
        st.integers(1, 12),
        st.lists(st.sampled_from("ABCD"), unique=True),
        st.sampled_from(["", "c"]),
        st.lists(st.tuples(st.integers(1, 12), st.integers(0, 30)), max_size=2),
    ),
    unique_by=lambda record: record.n,
)


@given(RECORDS, st.dictionaries(st.integers(1, 12), st.floats(0, 1), max_size=4), st.sets(st.integers(1, 12)))
def test_any_order_of_records_reaches_the_same_and_names_only_visible_ones(
    records: list[StoredRecord], seeds: dict[int, float], hidden: set[int]
) -> None:
    view = View(lambda n: n not in hidden, NOW)
    seeds = {n: a for n, a in seeds.items() if n not in hidden}
    found = reach(graph_of(*records), seeds, view)
    assert found == reach(graph_of(*reversed(records)), dict(reversed(seeds.items())), view)
    for n, reached in found.items():
        named = {n, reached.seed, *(step.source for step in reached.path)}
        assert not named & hidden
        assert reached.path[0].source == reached.seed
        assert reached.activation <= seeds[reached.seed]
