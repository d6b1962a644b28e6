"""Fills the plan of a RecallWithContext with texts, and merges it with the conversation in the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import record_id
from remembrancer.model.merge import FULL_BUDGET, echoes, filter_only_roles, in_order, whole_texts
from remembrancer.v1 import recall_pb2
from services.gateway.recall.assembly import Texts, hit_of, recall_response
from services.gateway.shared.memory_record import PREVIEW
from services.gateway.shared.tokens import TokenCounter

ANSWER_BYTES: Final = 4 * 2**20 - 2**14
"""Most bytes of an answer: 4 MiB, less what is added last, such as the counts of tokens.

What is no whole text needs at most 3.7 MiB: three procedures, 60 previews with their details, and the echo of 1 MiB.
"""

LENGTHS: Final = 16
"""Bytes by which lengths of messages may grow with one text."""

_SAME = (
    "retrieval_id", "procedures", "evidence", "evidence_truncated", "evidence_mode", "confidence", "mode", "as_of",
    "scope_known", "warnings", "more_available", "usage", "active_tier_error", "deep_tier_error", "probable_answer",
    "probable_answer_reason", "resolved_project_id",
)  # fmt: skip
"""Fields that both recalls' answers have."""


async def context_response(
    plan: store_pb2.ContextPlan, texts: Texts, request: recall_pb2.RecallWithContextRequest, tokens: TokenCounter
) -> recall_pb2.RecallWithContextResponse:
    """Return the answer."""
    plain = await recall_response(plan.recall, texts, tokens)
    response = recall_pb2.RecallWithContextResponse(
        **{field.name: value for field, value in plain.ListFields() if field.name in _SAME},
        entities=plain.hits.entities,
        gate_fallback=plan.gate_fallback,
        degraded_advisory=plan.degraded_advisory,
    )
    shown = [hit for hit in plan.recall.hits if hit.n in texts.records]
    memories = [_message(hit, texts.records) for hit in shown]
    response.messages.extend(in_order([*memories, *echoes(request.external_context)]))
    roles = filter_only_roles(request.external_context)
    if roles:
        response.context_filter_only.roles.extend(roles)
    if request.full_content:
        _show_whole(response, {record_id(texts.records[hit.n].kind, hit.n): texts.records[hit.n] for hit in shown})
    hits = (hit.content for hit in (*plain.hits.observations, *plain.hits.turns))
    response.usage.tokens_out += await tokens.count(m.content for m in response.messages) - await tokens.count(hits)
    return response


def _show_whole(response: recall_pb2.RecallWithContextResponse, records: Mapping[str, store_pb2.Record]) -> None:
    """Show texts whole as far as the budget goes, best first, and no further than the answer may grow."""
    within, ran_out = whole_texts([len(record.content) for record in records.values()])
    messages = {message.memory.memory_id: message for message in response.messages if message.HasField("memory")}
    room = ANSWER_BYTES - response.ByteSize()
    for memory_id, record in list(records.items())[:within]:
        message, text = messages[memory_id], record.content
        # The text may stand in the answer twice.
        times = 2 if memory_id == response.probable_answer.id else 1
        room -= times * (len(text.encode()) - len(message.content.encode()) + LENGTHS)
        if room < 0:
            ran_out = True
            break
        message.content, message.content_truncated = text, False
        if times > 1:
            response.probable_answer.text = text
    if ran_out:
        response.full_content_budget_chars = FULL_BUDGET


def _message(planned: store_pb2.PlannedHit, records: Mapping[int, store_pb2.Record]) -> recall_pb2.ContextMessage:
    record = records[planned.n]
    content = record.content[:PREVIEW]
    message = recall_pb2.ContextMessage(
        origin=recall_pb2.MESSAGE_ORIGIN_MEMORY,
        role=record.role,
        source=_source(record),
        content=content,
        content_truncated=len(content) < len(record.content),
        content_length=len(record.content),
        timestamp_text=record.occurred_at.ToJsonString(),
        timestamp=record.occurred_at,
        memory=hit_of(planned, records),
    )
    message.memory.ClearField("content")
    return message


def _source(record: store_pb2.Record) -> recall_pb2.MessageSource:
    kind = {"user": "User", "assistant": "Agent"}.get(record.role, "Memory")
    return recall_pb2.MessageSource(kind=kind, id=record.name or record.axes.user_id or record.axes.agent_id)
