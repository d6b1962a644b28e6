from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.store.reader import StoredRecord
from tests.records import NOW
from tests.unit.deep.records import erased, graph_of, stored
from workers.deep.graph import Edge, Graph, View

EVERYTHING = View(lambda _: True, NOW)


def edges(graph: Graph, n: int, view: View = EVERYTHING, least: float = 0.0, fan: int = 99) -> list[Edge]:
    return list(graph.edges(n, view, least, fan))


def ways(graph: Graph, n: int, view: View = EVERYTHING) -> set[tuple[int, int, str]]:
    return {(edge.kind, edge.target, edge.entity_id) for edge in edges(graph, n, view)}


def test_records_that_mention_an_entity_lead_to_each_other() -> None:
    graph = graph_of(stored(1, "Dana", "Biscuit"), stored(2, "Biscuit"), stored(3, "Rome"))
    assert ways(graph, 1) == {(tier_pb2.EDGE_KIND_SHARES_ENTITY, 2, "ent_biscuit")}
    assert ways(graph, 2) == {(tier_pb2.EDGE_KIND_SHARES_ENTITY, 1, "ent_biscuit")}
    assert ways(graph, 3) == set()


def test_turns_of_one_conversation_lead_to_the_ones_beside_them() -> None:
    graph = graph_of(*(stored(n, conversation="c") for n in (1, 4, 9)), stored(5, conversation="d"))
    beside = {(tier_pb2.EDGE_KIND_NEXT_TURN, 9, ""), (tier_pb2.EDGE_KIND_PREVIOUS_TURN, 1, "")}
    assert ways(graph, 4) == beside | {(tier_pb2.EDGE_KIND_SAME_CONVERSATION, n, "") for n in (1, 9)}


def test_turns_without_a_conversation_have_no_neighbours() -> None:
    assert ways(graph_of(stored(1), stored(2)), 1) == set()


def test_what_one_session_wrote_belongs_together() -> None:
    graph = graph_of(stored(1, session="s", turn=False), stored(2, session="s", turn=False), stored(3, session="t"))
    assert ways(graph, 1) == {(tier_pb2.EDGE_KIND_SAME_SESSION, 2, "")}


def test_a_superseded_record_leads_to_the_one_that_took_its_place_and_not_back() -> None:
    graph = graph_of(stored(1, replaced_by=2), stored(2))
    assert ways(graph, 1) == {(tier_pb2.EDGE_KIND_REPLACES, 2, "")}
    assert ways(graph, 2) == set()


def test_uses_together_lead_both_ways_and_fade() -> None:
    fresh = graph_of(stored(1, used_with=[(2, 0)]), stored(2))
    old = graph_of(stored(1, used_with=[(2, 30)]), stored(2))
    assert ways(fresh, 1) == {(tier_pb2.EDGE_KIND_USED_TOGETHER, 2, "")}
    assert ways(fresh, 2) == {(tier_pb2.EDGE_KIND_USED_TOGETHER, 1, "")}
    assert edges(fresh, 1)[0].weight == edges(fresh, 2)[0].weight > edges(old, 1)[0].weight


def test_no_edge_ends_at_a_hidden_or_missing_record() -> None:
    graph = graph_of(
        stored(1, "Biscuit", conversation="c", session="s", replaced_by=2, used_with=[(2, 0), (9, 0)]),
        stored(2, "Biscuit", conversation="c", session="s"),
    )
    assert len(ways(graph, 1)) == 5
    assert {target for _, target, _ in ways(graph, 1)} == {2}
    assert ways(graph, 1, View(lambda n: n != 2, NOW)) == set()


def test_an_erased_record_takes_all_its_edges_with_it() -> None:
    first = stored(1, "Biscuit", conversation="c", session="s", used_with=[(2, 0)])
    graph = graph_of(first, stored(2, "Biscuit", conversation="c", session="s"), erased(1))
    assert len(graph) == 1
    assert ways(graph, 2) == set()
    assert graph.mentions("ent_biscuit") == [2]


def test_a_changed_text_leads_by_its_new_entities_only() -> None:
    graph = graph_of(stored(1, "Rome"), stored(2, "Rome"), stored(3, "Oslo"), stored(1, "Oslo"))
    assert ways(graph, 1) == {(tier_pb2.EDGE_KIND_SHARES_ENTITY, 3, "ent_oslo")}
    assert ways(graph, 2) == set()


def test_the_fan_of_an_entity_is_bounded_and_takes_the_nearest_visible_ones() -> None:
    graph = graph_of(*(stored(n, "Rome") for n in range(1, 40)))
    view = View(lambda n: n % 2 == 0, NOW)
    assert [edge.target for edge in edges(graph, 20, view, fan=4)] == [18, 22, 16, 24]


def test_faint_edges_are_left_out() -> None:
    graph = graph_of(*(stored(n, "Dana") for n in range(1, 40)), stored(40, "Dana", "Biscuit"), stored(41, "Biscuit"))
    assert [edge.target for edge in edges(graph, 40, least=0.3)] == [41]


def test_a_procedure_is_no_node() -> None:
    procedure = stored(1, "Rome")
    assert procedure.record is not None
    procedure.record.kind = store_pb2.RECORD_KIND_PROCEDURE
    graph = graph_of(procedure, stored(2, "Rome"))
    assert ways(graph, 2) == set()
    assert len(graph) == 1


NS = st.integers(1, 8)
STATES = st.builds(
    lambda n, names, conversation, session, replaced_by, used: stored(
        n, *names, conversation=conversation, session=session, replaced_by=replaced_by, used_with=used
    ),
    NS,
    st.lists(st.sampled_from(["Rome", "Oslo", "Dana"]), unique=True),
    st.sampled_from(["", "c", "d"]),
    st.sampled_from(["", "s"]),
    st.sampled_from([0, 1, 5]),
    st.lists(st.tuples(NS, st.integers(0, 30)), max_size=3),
)


@given(st.lists(st.one_of(STATES, st.builds(erased, NS)), max_size=24), st.randoms())
def test_a_grown_graph_equals_one_built_from_the_last_states_in_any_order(
    history: list[StoredRecord], rng: Random
) -> None:
    grown = graph_of(*history)
    last = list({record.n: record for record in history}.values())
    rng.shuffle(last)
    fresh = graph_of(*last, *last)
    assert len(grown) == len(fresh) == sum(record.record is not None for record in last)
    for n in range(1, 9):
        assert edges(grown, n) == edges(fresh, n)
        assert grown.labels(n) == fresh.labels(n)
