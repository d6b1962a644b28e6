"""Which entities a query led to, and how far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.ranking import DECIMALS
from workers.deep.graph import Graph, View

LIMIT = 10
"""Entities in one answer."""


def score_entities(
    graph: Graph, view: View, asked: Iterable[str], relevance: Mapping[int, float]
) -> list[tier_pb2.EntityScore]:
    """Return the best entities by descending score in 0..1, then by id.

    `asked` are the query's own entity ids: they score 1. The entities of the records in `relevance` (N -> 0..1, all
    visible) score the best record's relevance, lowered for entities that say little. An entity is returned only when a
    visible record mentions it, labelled as the first such record writes it.
    """
    scores: dict[str, float] = {}
    for n, value in relevance.items():
        for entity_id in graph.labels(n):
            score = round(value * math.sqrt(graph.specificity(entity_id)), DECIMALS)
            scores[entity_id] = max(scores.get(entity_id, 0.0), score)
    scores |= dict.fromkeys(asked, 1.0)
    best: list[tier_pb2.EntityScore] = []
    for entity_id, score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        mentioned_by = next(filter(view.visible, graph.mentions(entity_id)), None)
        if mentioned_by is not None and score > 0.0:
            label = graph.labels(mentioned_by)[entity_id]
            entity = store_pb2.Entity(entity_id=entity_id, label=label)
            best.append(tier_pb2.EntityScore(entity=entity, score=score, n=mentioned_by))
        if len(best) == LIMIT:
            break
    return best
