"""Spreading activation over a bounded part of the graph.

Activation starts at seeds and is passed along edges, round by round; what arrives is damped by each edge's weight
(Collins and Loftus 1975). A record keeps the strongest way that reached it as its path, and ways of other kinds, or
through other entities, add to its activation as 1 - product(1 - a). Rounds, bounds and their order depend on nothing
but the records, the seeds and the filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from remembrancer.internal.v1 import tier_pb2
from workers.deep.graph import Edge, Graph, View

HOPS = 2
"""Steps from a seed: a question in two parts needs two, what lies further has little to do with it."""
LATER_STEP = 0.7
"""What a step after the first keeps besides the edge's weight: each step is a guess on top of a guess."""
FRONTIER = 48
"""Records that pass activation on in one round: the strongest."""
FAN = 24
"""Records per entity that one record passes activation to."""
REACHED = 2048
"""Records reached from which on no further source passes anything on."""
FAINT = 0.03
"""Activation below which nothing is passed on."""
CONFIRMS = 0.75
"""A record that matches the query itself is reached when what arrives is at least this share of its own relevance."""
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


@dataclass(frozen=True, slots=True)
class Way:
    """What one source passes along one edge."""

    passed: float
    source: Reached
    edge: Edge


def spread(graph: Graph, view: View, seeds: Mapping[int, float], check: Callable[[], None]) -> dict[int, Reached]:
    """Return the records reached from `seeds` (N -> activation in 0..1), by N.

    A seed is reached too when others pass it nearly as much as it started with. Nothing outside `view` is walked
    through. `check` is called before every round and may raise to stop.
    """
    sources = [Reached(n, a, n, ()) for n, a in seeds.items()]
    ways: dict[int, list[Way]] = {}
    reached: dict[int, Reached] = {}
    for _ in range(HOPS):
        check()
        touched = _pass_on(graph, view, sources, seeds, ways)
        sources = [_merge(n, ways[n], seeds) for n in touched]
        reached.update((record.n, record) for record in sources)
    return reached


def _pass_on(
    graph: Graph, view: View, sources: Iterable[Reached], seeds: Mapping[int, float], ways: dict[int, list[Way]]
) -> set[int]:
    """Add to `ways` what the strongest sources pass on; return the records that something arrived at."""
    touched: set[int] = set()
    for source in sorted(sources, key=lambda r: (-r.activation, r.n))[:FRONTIER]:
        if source.activation < FAINT or len(ways) >= REACHED:
            break
        strength = source.activation * (LATER_STEP if source.path else 1.0)
        for edge in graph.edges(source.n, view, FAINT / strength, FAN):
            way = Way(strength * edge.weight, source, edge)
            if way.passed >= CONFIRMS * seeds.get(edge.target, 0.0) and not _goes_back(source.path, edge):
                ways.setdefault(edge.target, []).append(way)
                touched.add(edge.target)
    return touched


def _goes_back(path: Iterable[Step], edge: Edge) -> bool:
    """Return whether the edge ends at a record of the path, or leads through an entity that the path led through."""
    return any(step.source == edge.target or (edge.entity_id and step.entity_id == edge.entity_id) for step in path)


def _merge(n: int, ways: list[Way], seeds: Mapping[int, float]) -> Reached:
    ways.sort(key=lambda way: (-way.passed, way.source.n, way.edge.kind, way.edge.entity_id, len(way.source.path)))
    source, edge = ways[0].source, ways[0].edge
    rest, counted = 1.0, set[tuple[int, str]]()
    for way in ways:
        sort = (way.edge.kind, way.edge.entity_id)
        if sort not in counted:
            counted.add(sort)
            rest *= 1.0 - way.passed
    activation = min(round(1.0 - rest, DECIMALS), seeds[source.seed])
    return Reached(n, activation, source.seed, (*source.path, Step(edge.kind, source.n, edge.entity_id)))
