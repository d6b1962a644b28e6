"""Fills a plan with texts as the store holds them now: the answer that leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import number_of, record_id
from remembrancer.v1 import common_pb2, recall_pb2
from services.gateway.recall.evidence import evidence_of
from services.gateway.recall.path import entity_in, path_of
from services.gateway.recall.procedures import procedure_of
from services.gateway.recall.timeline import timeline
from services.gateway.recall.usage import texts_out
from services.gateway.search.answer import show_answer
from services.gateway.shared.memory_record import PREVIEW
from services.gateway.shared.tokens import TokenCounter

_KINDS: Final = {
    store_pb2.RECORD_KIND_OBSERVATION: common_pb2.MEMORY_KIND_OBSERVATION,
    store_pb2.RECORD_KIND_TURN: common_pb2.MEMORY_KIND_TURN,
    store_pb2.RECORD_KIND_EPISODE: common_pb2.MEMORY_KIND_EPISODE,
}


@dataclass(frozen=True, slots=True)
class Texts:
    """Records, by N, as they are now; what was erased since the plan was made is missing and left out."""

    records: Mapping[int, store_pb2.Record]
    learned: Mapping[int, store_pb2.Learned]


async def recall_response(plan: store_pb2.RecallPlan, texts: Texts, tokens: TokenCounter) -> recall_pb2.RecallResponse:
    """Return the answer to a Recall."""
    shown = [hit for hit in plan.hits if hit.n in texts.records]
    hits = recall_pb2.Hits(entities=_entities(plan.entities, texts.records))
    for planned in shown:
        hit = hit_of(planned, texts.records)
        (hits.turns if hit.kind == common_pb2.MEMORY_KIND_TURN else hits.observations).append(hit)
    for listed in (hits.turns, hits.observations):
        listed.sort(key=lambda h: (-h.score, number_of(h.memory_id)))
    evidence, truncated = evidence_of(_best_first(shown), texts.records, plan.evidence_mode)
    response = recall_pb2.RecallResponse(
        retrieval_id=plan.retrieval_id,
        hits=hits,
        procedures=[
            procedure_of(p.n, p.relevance, texts.records[p.n], texts.learned.get(p.n))
            for p in plan.procedures
            if p.n in texts.records
        ],
        evidence=evidence,
        evidence_truncated=truncated,
        evidence_mode=plan.evidence_mode,
        confidence=plan.confidence,
        mode=plan.mode,
        as_of=plan.as_of,
        scope_known=plan.scope_known,
        warnings=plan.warnings,
        more_available=plan.more_available,
    )
    show_answer(plan.answer, response)
    if plan.include_timeline:
        response.timeline = timeline((*hits.turns, *hits.observations))
    if plan.HasField("active_tier_error"):
        response.active_tier_error.CopyFrom(plan.active_tier_error)
    if plan.HasField("deep_tier_error"):
        response.deep_tier_error.CopyFrom(plan.deep_tier_error)
    if plan.HasField("resolved_project_id"):
        response.resolved_project_id = plan.resolved_project_id
    response.usage.tokens_in = plan.tokens_in
    response.usage.tokens_out = await tokens.count(texts_out(response))
    return response


def hit_of(planned: store_pb2.PlannedHit, records: Mapping[int, store_pb2.Record]) -> recall_pb2.Hit:
    """Return one memory, which is among `records`, as it is shown."""
    record = records[planned.n]
    hit = recall_pb2.Hit(
        memory_id=record_id(record.kind, planned.n),
        content=record.content[:PREVIEW],
        content_truncated=len(record.content) > PREVIEW,
        content_length=len(record.content),
        kind=_KINDS[record.kind],
        type=record.type,
        status=record.status,
        stale_reason=record.stale_reason,
        role=record.role,
        name=record.name,
        msg_id=record.msg_id,
        axes=record.axes,
        score=planned.score,
        relevance=planned.relevance,
        pathway=planned.pathway,
        found_by=planned.found_by,
        occurred_at=record.occurred_at,
        recorded_at=record.recorded_at,
        time_uncertain=record.time_uncertain,
        why=path_of(planned, records),
    )
    if record.HasField("source") or record.origin_scope:
        hit.provenance.source_kind = record.source.kind
        hit.provenance.integration = record.source.integration
        hit.provenance.integration_version = record.source.integration_version
        hit.provenance.origin_scope = record.origin_scope
    return hit


def _entities(
    planned: Iterable[store_pb2.PlannedEntity], records: Mapping[int, store_pb2.Record]
) -> Iterator[recall_pb2.EntityHit]:
    for each in planned:
        entity = entity_in(records.get(each.n), each.mark)
        if entity is not None:
            yield recall_pb2.EntityHit(entity_id=entity.entity_id, label=entity.label, score=each.score)


def _best_first(hits: Iterable[store_pb2.PlannedHit]) -> list[int]:
    # Those that have no score, the most recent ones, are planned in their order.
    return [hit.n for hit in sorted(hits, key=lambda h: -h.score)]
