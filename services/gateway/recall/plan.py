"""Turns what was found into a plan: the answer without its texts, which is what the replay memory keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model import fusion
from remembrancer.model.entity_mark import mark_of
from remembrancer.model.ids import record_id
from remembrancer.model.ranking import DECIMALS
from remembrancer.runtime.status import to_status
from remembrancer.v1 import common_pb2, recall_pb2
from services.gateway.search.searcher import Found


def plan_recall(
    retrieval_id: str, found: Found, as_of: timestamp_pb2.Timestamp, warnings: Sequence[common_pb2.Warning]
) -> store_pb2.RecallPlan:
    """Return the plan of an answer; the caller fills in what echoes the request."""
    plan = store_pb2.RecallPlan(
        retrieval_id=retrieval_id,
        as_of=as_of,
        hits=[
            *(_hit(c, recall_pb2.PATHWAY_DIRECT, found.records) for c in found.direct),
            *(_hit(c, recall_pb2.PATHWAY_ASSOCIATED, found.records) for c in found.associated),
        ],
        entities=[
            store_pb2.PlannedEntity(mark=mark_of(e.entity.entity_id), score=round(e.score, DECIMALS), n=e.n)
            for e in found.entities
        ],
        procedures=[
            store_pb2.PlannedProcedure(n=p.n, relevance=round(p.relevance, DECIMALS)) for p in found.procedures
        ],
        confidence=fusion.confidence((*found.direct, *found.associated)),
        more_available=found.more_available,
        warnings=[*warnings, *found.warnings],
    )
    for tier, error in found.errors.items():
        target = plan.active_tier_error if tier == common_pb2.TIER_ACTIVE else plan.deep_tier_error
        target.CopyFrom(to_status(error))
    return plan


def exposed(plan: store_pb2.RecallPlan, records: Mapping[int, store_pb2.Record]) -> list[str]:
    """Return the ids that feedback must assess: memories, direct and associated, then procedures."""
    memories = [record_id(records[h.n].kind, h.n) for h in plan.hits]
    return memories + [record_id(records[p.n].kind, p.n) for p in plan.procedures]


def _hit(
    candidate: fusion.Fused, pathway: recall_pb2.Pathway.ValueType, records: Mapping[int, store_pb2.Record]
) -> store_pb2.PlannedHit:
    direct = pathway == recall_pb2.PATHWAY_DIRECT
    return store_pb2.PlannedHit(
        n=candidate.n,
        relevance=candidate.relevance,
        score=candidate.score,
        pathway=pathway,
        found_by=candidate.found_by,
        path=[] if direct else [_step(step, records) for step in candidate.path],
    )


def _step(step: tier_pb2.PathStep, records: Mapping[int, store_pb2.Record]) -> store_pb2.PlannedStep:
    record = records.get(step.source)
    return store_pb2.PlannedStep(
        kind=step.kind,
        source=step.source,
        source_kind=record.kind if record is not None else store_pb2.RECORD_KIND_UNSPECIFIED,
        mark=mark_of(step.entity.entity_id) if step.kind == tier_pb2.EDGE_KIND_SHARES_ENTITY else 0,
    )
