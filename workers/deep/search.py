"""A search of the deep tier: direct matches, and what the graph leads to from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.clock import seconds
from remembrancer.model.ranking import DECIMALS
from workers.deep.entities import score_entities
from workers.deep.graph import Graph, View
from workers.deep.partition import DeepPartition
from workers.deep.spread import CONFIRMS, Reached, spread
from workers.index.scoring import Scorer

SEEDS = 10
"""Direct matches that activation starts from; weaker ones are about something else."""
ENTITY_SEEDS = 8
"""Further seeds among the records that mention an entity of the query."""
MENTIONS_SCORED = 64
"""Newest mentions of one query entity that are scored as possible seeds."""
CONSIDERED = 256
"""Reached records whose own match with the query is scored: those with most activation."""
WORTH_SHOWING = 0.25
"""Share of the best seed's relevance that must arrive at a record, so that hubs and long ways bring no clutter."""
ASSOCIATED = 60
"""Associated records in one answer: the ten that may be shown, and spare for the 50 that may be shown as direct."""
DAMPING = 0.8
"""Share of the activation that counts as relevance: being led to is weaker evidence than matching the query.

With it a record that shares one rare entity with a match is about 70 % as relevant as that match, one beside it 30 %.
"""


def search(
    partition: DeepPartition, request: tier_pb2.SearchRequest, checkpoint: Callable[[], None]
) -> tier_pb2.SearchResponse:
    """Answer `request` from the partition as it stands; `checkpoint` is called between stages and may raise to stop."""
    index, graph = partition.index, partition.graph
    with index.lock:
        if request.recent:
            newest = index.search(request)
            return tier_pb2.SearchResponse(direct=newest.candidates, any_live=newest.any_live)
        scorer = index.scorer(request)
        direct = scorer.best(max(request.depth, SEEDS))
        checkpoint()
        view = View(scorer.visible, seconds(request.as_of))
        seeds = {c.n: c.relevance for c in direct[:SEEDS]}
        seeds |= _entity_seeds(graph, scorer, request.query.entities)
        reached = spread(graph, view, seeds, checkpoint)
        checkpoint()
        associated = _associated(graph, scorer, seeds, reached.values())
        relevance = seeds | {c.n: c.relevance for c in associated}
        asked = [entity.entity_id for entity in request.query.entities]
        return tier_pb2.SearchResponse(
            direct=direct[: request.depth],
            associated=associated,
            entities=score_entities(graph, view, asked, relevance),
            any_live=index.any_live(),
            words_only=scorer.words_only,
        )


def _entity_seeds(graph: Graph, scorer: Scorer, entities: Iterable[store_pb2.Entity]) -> dict[int, float]:
    mentions: set[int] = set()
    for entity in entities:
        if graph.specificity(entity.entity_id) > 0.0:
            mentions.update(graph.mentions(entity.entity_id)[-MENTIONS_SCORED:])
    best = sorted(scorer.of(mentions).values(), key=lambda c: (-c.relevance, c.n))[:ENTITY_SEEDS]
    return {c.n: c.relevance for c in best}


def _associated(
    graph: Graph, scorer: Scorer, seeds: Mapping[int, float], reached: Iterable[Reached]
) -> list[tier_pb2.Candidate]:
    """Return the records to which the graph leads about as much as their own match, or more.

    Their relevance is their own, or the damped activation when that is higher; it is never above the seed's. Some may
    be weak direct matches too: which of those are shown as direct is for the caller to say.
    """
    least = WORTH_SHOWING * max(seeds.values(), default=0.0)
    strong = [record for record in reached if record.activation >= least]
    strong = sorted(strong, key=lambda record: (-record.activation, record.n))[:CONSIDERED]
    scored = scorer.of(record.n for record in strong)
    associated: list[tier_pb2.Candidate] = []
    for way in strong:
        candidate = scored.get(way.n)
        if candidate is None or candidate.relevance > min(way.activation / CONFIRMS, seeds[way.seed]):
            continue
        candidate.relevance = round(max(candidate.relevance, DAMPING * way.activation), DECIMALS)
        candidate.path.extend(_path(graph, way))
        associated.append(candidate)
    associated.sort(key=lambda c: (-c.relevance, c.n))
    return associated[:ASSOCIATED]


def _path(graph: Graph, reached: Reached) -> Iterable[tier_pb2.PathStep]:
    for step in reached.path:
        entity = None
        if step.entity_id:
            label = graph.labels(step.source)[step.entity_id]
            entity = store_pb2.Entity(entity_id=step.entity_id, label=label)
        yield tier_pb2.PathStep(kind=step.kind, source=step.source, entity=entity)
