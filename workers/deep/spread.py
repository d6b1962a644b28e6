"""Spreading activation over a bounded part of the graph.

Activation starts at seeds and is passed along edges, round by round; what arrives is damped by each edge's weight
(Collins and Loftus 1975). A record keeps the strongest way that reached it as its path, and further ways add to its
activation as 1 - product(1 - a). Rounds, bounds and their order depend on nothing but the records, the seeds and the
filter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from remembrancer.internal.v1 import tier_pb2
from workers.deep.graph import Edge, Graph, View

HOPS = 2
"""Steps from a seed: a question in two parts needs two, what lies further has little to do with it."""
FRONTIER = 48
"""Records that pass activation on in one round: the strongest."""
FAN = 24
"""Records per entity that one record passes activation to."""
REACHED = 4096
"""Records that may be reached in all; a round that would go beyond stops at the weaker sources."""
FAINT = 0.03
"""Activation below which nothing is passed on."""
DECIMALS = 6
"""Activation is rounded so that the order of additions cannot show."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path: from record `source` along an edge of a kind; `entity_id` is set for SHARES_ENTITY."""

    kind: tier_pb2.EdgeKind.ValueType
    source: int
    entity_id: str


@dataclass(frozen=True, slots=True)
class Reached:
    """A record that activation reached.

    `activation` in 0..1, never above that of `seed`, the record at which the path starts; `path` from there outwards.
    """

    n: int
    activation: float
    seed: int
    path: tuple[Step, ...]


def spread(graph: Graph, view: View, seeds: Mapping[int, float], check: Callable[[], None]) -> dict[int, Reached]:
    """Return the records reached from `seeds` (N -> activation in 0..1), by N.

    A seed is reached itself when another passes it more than it started with. Nothing outside `view` is walked through.
    `check` is called before every round and may raise to stop.
    """
    sources = {n: Reached(n, a, n, ()) for n, a in seeds.items()}
    reached: dict[int, Reached] = {}
    for _ in range(HOPS):
        check()
        arrivals = _round(graph, view, sources, seeds, reached, REACHED - len(reached))
        sources = {n: _merge(n, ways, seeds) for n, ways in arrivals.items()}
        reached.update(sources)
    return reached


def _round(
    graph: Graph,
    view: View,
    sources: Mapping[int, Reached],
    seeds: Mapping[int, float],
    reached: Mapping[int, Reached],
    room: int,
) -> dict[int, list[tuple[float, Reached, Edge]]]:
    arrivals: dict[int, list[tuple[float, Reached, Edge]]] = {}
    for source in sorted(sources.values(), key=lambda r: (-r.activation, r.n))[:FRONTIER]:
        if source.activation < FAINT or len(arrivals) >= room:
            break
        for edge in graph.edges(source.n, view, FAINT / source.activation, FAN):
            passed = source.activation * edge.weight
            if edge.target not in reached and passed > seeds.get(edge.target, 0.0):
                arrivals.setdefault(edge.target, []).append((passed, source, edge))
    return arrivals


def _merge(n: int, ways: list[tuple[float, Reached, Edge]], seeds: Mapping[int, float]) -> Reached:
    ways.sort(key=lambda way: (-way[0], way[1].n, way[2].kind, way[2].entity_id))
    _, source, edge = ways[0]
    rest = 1.0
    for passed, _, _ in ways:
        rest *= 1.0 - passed
    activation = min(round(1.0 - rest, DECIMALS), seeds[source.seed])
    return Reached(n, activation, source.seed, (*source.path, Step(edge.kind, source.n, edge.entity_id)))
