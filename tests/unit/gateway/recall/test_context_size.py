"""An answer to RecallWithContext stays below 4 MiB, whatever it holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.clock import from_ms
from remembrancer.model.entity_mark import mark_of
from remembrancer.model.fusion import ASSOCIATED_MAX
from remembrancer.model.task_context import to_struct
from remembrancer.v1 import common_pb2, recall_pb2
from services.gateway.recall.assembly import Texts
from services.gateway.recall.context_assembly import context_response
from services.gateway.recall.recall_with_context import CONTEXT_BYTES, ENTRIES
from services.gateway.requests.limits import TOP_K_MAX
from services.gateway.shared.tokens import TokenCounter

LIMIT = 4 * 2**20
AT = from_ms(4_102_444_800_123)
WIDE = "🍸"
AXES = dict.fromkeys(common_pb2.Axes.DESCRIPTOR.fields_by_name, WIDE * 256)
PROCEDURES = (9001, 9002, 9003)


class NoTokens:
    async def count(self, texts: Iterable[str]) -> int:
        return sum(1 for _ in texts)


def observation(length: int) -> store_pb2.Record:
    entities = [store_pb2.Entity(entity_id=f"ent_{i}", label=WIDE * 256) for i in range(10)]
    return store_pb2.Record(
        kind=store_pb2.RECORD_KIND_OBSERVATION,
        content=WIDE * length,
        axes=common_pb2.Axes(**AXES),
        role=WIDE * 256,
        name=WIDE * 256,
        msg_id=WIDE * 256,
        source=common_pb2.SourceInfo(kind=WIDE * 256, integration=WIDE * 256, integration_version=WIDE * 256),
        origin_scope=WIDE * 256,
        occurred_at=AT,
        recorded_at=AT,
        time_uncertain=True,
        analysis=store_pb2.Analysis(entities=entities),
    )


def procedure() -> store_pb2.Record:
    return store_pb2.Record(
        kind=store_pb2.RECORD_KIND_PROCEDURE,
        occurred_at=AT,
        recorded_at=AT,
        procedure=store_pb2.ProcedureBody(
            goal=WIDE * 4000,
            summary=WIDE * 4000,
            steps=[WIDE * 1000] * 64,
            caveats=[WIDE * 1000] * 16,
            context=to_struct({"notes": WIDE * 4000}),
            outcome=common_pb2.OUTCOME_FAILURE,
            outcome_summary=WIDE * 4000,
        ),
    )


def everything(length: int) -> tuple[store_pb2.ContextPlan, Texts]:
    ns = range(1, TOP_K_MAX + ASSOCIATED_MAX + 1)
    hits = [
        store_pb2.PlannedHit(
            n=n,
            relevance=0.9,
            score=0.9,
            pathway=recall_pb2.PATHWAY_DIRECT,
            found_by=[common_pb2.TIER_ACTIVE, common_pb2.TIER_DEEP],
            path=[
                store_pb2.PlannedStep(
                    kind=tier_pb2.EDGE_KIND_SHARES_ENTITY,
                    source=n,
                    source_kind=store_pb2.RECORD_KIND_OBSERVATION,
                    mark=mark_of("ent_0"),
                )
            ]
            * 3,
        )
        for n in ns
    ]
    warnings = [common_pb2.Warning(code=common_pb2.WARNING_CODE_UNREADABLE_TEXT, message=WIDE * 1000)] * 8
    recall = store_pb2.RecallPlan(
        retrieval_id="r" * 100,
        hits=hits,
        entities=[store_pb2.PlannedEntity(mark=mark_of(f"ent_{i}"), score=1, n=1) for i in range(10)],
        procedures=[store_pb2.PlannedProcedure(n=n, relevance=1) for n in PROCEDURES],
        warnings=warnings,
        evidence_mode=recall_pb2.EVIDENCE_MODE_FULL,
        answer=store_pb2.PlannedAnswer(
            choices=[store_pb2.PlannedChoice(n=n, probability=0.3) for n in (1, 2, 3)],
        ),
        resolved_project_id=WIDE * 256,
    )
    uses = [store_pb2.ProcedureUse(contribution=WIDE * 4000, outcome_summary=WIDE * 4000, at=AT)] * 16
    records = {n: observation(length) for n in ns} | dict.fromkeys(PROCEDURES, procedure())
    learned = {n: store_pb2.Learned(uses=uses) for n in PROCEDURES}
    return store_pb2.ContextPlan(recall=recall, degraded_advisory="x" * 2000), Texts(records, learned)


def conversation(role: str) -> list[recall_pb2.ContextEntry]:
    each = CONTEXT_BYTES // ENTRIES // 4 - 4
    return [recall_pb2.ContextEntry(role=role, content=WIDE * each, timestamp="2024-01-01") for _ in range(ENTRIES)]


async def answered(length: int, role: str = "user") -> tuple[recall_pb2.RecallWithContextResponse, Texts]:
    plan, texts = everything(length)
    request = recall_pb2.RecallWithContextRequest(full_content=True, external_context=conversation(role))
    return await context_response(plan, texts, request, cast("TokenCounter", NoTokens())), texts


@pytest.mark.parametrize("length", [500, 3333, 4000, 16_000])
@pytest.mark.parametrize("role", ["user", WIDE * 256])
async def test_t20_every_maximum_at_once_fits(length: int, role: str) -> None:
    response, _ = await answered(length, role)
    assert len(response.procedures) == 3
    assert len(response.messages) >= TOP_K_MAX + ASSOCIATED_MAX
    assert LIMIT / 2 < response.ByteSize() < LIMIT


async def test_t20_the_best_texts_are_whole_and_the_answer_says_that_others_are_not() -> None:
    response, texts = await answered(3333)
    shown = {m.memory.memory_id: m for m in response.messages if m.HasField("memory")}
    whole = [n for n in range(1, 61) if not shown[f"sch_{n}"].content_truncated]
    assert whole == list(range(1, len(whole) + 1))
    assert whole
    assert all(shown[f"sch_{n}"].content == texts.records[n].content for n in whole)
    assert response.probable_answer.text == texts.records[1].content
    assert (len(whole) < 60) == (response.full_content_budget_chars > 0)
