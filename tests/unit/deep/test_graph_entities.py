from __future__ import annotations

from tests.records import NOW
from tests.unit.deep.records import graph_of, stored
from workers.deep.entities import LIMIT, score_entities
from workers.deep.graph import Graph, View

EVERYTHING = View(lambda _: True, NOW)


def naming(*labels: tuple[str, ...]) -> Graph:
    """Return a graph of records 1, 2, ... with these entities."""
    return graph_of(*(stored(n, *names) for n, names in enumerate(labels, start=1)))


def scores(graph: Graph, asked: list[str], relevance: dict[int, float], view: View = EVERYTHING) -> dict[str, float]:
    return {e.entity.label: e.score for e in score_entities(graph, view, asked, relevance)}


def test_entities_score_the_best_record_that_mentions_them() -> None:
    graph = naming(("Biscuit",), ("Biscuit", "Vet"), ("Rome",))
    found = scores(graph, [], {1: 0.6, 2: 0.3})
    assert list(found) == ["Biscuit", "Vet"]
    assert 0.0 < found["Vet"] < found["Biscuit"] <= 0.6


def test_an_entity_of_the_query_scores_one() -> None:
    assert scores(naming(("Biscuit",), ("Rome",)), ["ent_rome", "ent_unheard"], {}) == {"Rome": 1.0}


def test_a_hub_that_was_not_asked_for_is_left_out() -> None:
    graph = naming(*[("Dana",)] * 50, ("Dana", "Biscuit"))
    assert set(scores(graph, [], {51: 0.6})) == {"Biscuit"}
    assert set(scores(graph, ["ent_dana"], {51: 0.6})) == {"Dana", "Biscuit"}


def test_an_entity_that_only_hidden_records_mention_is_not_named() -> None:
    graph = naming(("rome",), ("Rome",))
    assert scores(graph, ["ent_rome"], {}, View(lambda n: n == 2, NOW)) == {"Rome": 1.0}
    assert scores(graph, ["ent_rome"], {}, View(lambda n: False, NOW)) == {}


def test_at_most_ten_are_returned_best_first_then_by_id() -> None:
    found = scores(naming(tuple(f"E{i}" for i in range(9, -1, -1)), ("Z",), ("A",)), ["ent_z", "ent_a"], {1: 0.5})
    assert list(found) == ["A", "Z", *(f"E{i}" for i in range(LIMIT - 2))]
