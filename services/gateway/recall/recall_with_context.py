"""RecallWithContext."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import InvalidField
from remembrancer.model.limits import NAME_LENGTH
from remembrancer.model.merge import Exclusion, threshold
from remembrancer.model.text import bounded, counted, is_blank, require
from remembrancer.store.keys import PartitionKeys
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from services.gateway.recall.advisory import degraded_advisory
from services.gateway.recall.assembly import Texts
from services.gateway.recall.checks import check_recall
from services.gateway.recall.context_assembly import context_response
from services.gateway.recall.ledger import count_recall, enter
from services.gateway.recall.recall_state import plan_answer, question, read_recall_state
from services.gateway.recall.retrieval import ledger_entry, plan_retrieval, texts_for
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import TOP_K_MAX, whole_number
from services.gateway.search.context_search import Wanted, search_in_context
from services.gateway.shared.idempotency import RECALLS_MS, Idempotency
from services.gateway.shared.parts import Parts

RPC: Final = "RecallWithContext"
LIMIT: Final = 10
ENTRIES: Final = 500
CONTEXT_BYTES: Final = 1 << 20

Request = recall_pb2.RecallWithContextRequest
Response = recall_pb2.RecallWithContextResponse


async def recall_with_context(parts: Parts, request: Request, call: Call) -> Response:
    """Answer a RecallWithContext; its retrieval is in the ledger before this returns."""
    limit = whole_number("limit", request.limit if request.HasField("limit") else None, LIMIT, 0, TOP_K_MAX)
    checked = check_recall(_as_recall(request), blank=True)
    _check_entries(request.external_context)
    recent, keys = is_blank(request.query), checked.keys
    idempotency = Idempotency.of(keys, call.caller, RPC, request, request.request_id, RECALLS_MS)
    origin = session_pb2.RETRIEVAL_ORIGIN_RECALL_WITH_CONTEXT
    state = await read_recall_state(parts, checked, idempotency, call, origin)
    if state.first is not None:
        return await _again(parts, request, keys, state.first)
    wanted = Wanted(
        limit,
        threshold(checked.floor, relax=request.relax_gate),
        checked.floor,
        Exclusion(request.external_context),
    )
    asked = replace(question(state), recent=recent)
    answer = await search_in_context(parts.searcher, asked, wanted, call.seconds_left)
    with parts.searcher.rest_of_call(answer.found):
        plan = store_pb2.ContextPlan(
            recall=await plan_retrieval(parts, state.retrieval, answer.found), gate_fallback=answer.gate_fallback
        )
        plan.recall.tokens_in += await parts.tokens.count(entry.content for entry in request.external_context)
        if limit and not recent and checked.wants_answer:
            plan.recall.answer.CopyFrom(plan_answer(parts, state, answer.found, call))
        if answer.degraded:
            plan.degraded_advisory = await degraded_advisory(parts, keys, call.caller, request.session_key)
        first = await enter(parts, state, ledger_entry(state.retrieval, plan.recall, answer.found), plan)
    if first is not None:
        return await _again(parts, request, keys, first)
    count_recall(parts, state, answer.found)
    return await context_response(plan, Texts(answer.found.records, answer.found.learned), request, parts.tokens)


async def _again(parts: Parts, request: Request, keys: PartitionKeys, first: bytes) -> Response:
    plan = store_pb2.ContextPlan.FromString(first)
    return await context_response(plan, await texts_for(parts, keys, plan.recall), request, parts.tokens)


def _as_recall(request: Request) -> recall_pb2.RecallRequest:
    """Return the part of the request that is a recall's. Errors: InvalidField for the agent."""
    require("agent_id", request.agent_id, NAME_LENGTH)
    if request.axes.agent_id not in ("", request.agent_id):
        raise InvalidField("axes.agent_id", "differs from agent_id")
    same: dict[str, Any] = {
        field.name: getattr(request, field.name)
        for field, _ in request.ListFields()
        if field.name in recall_pb2.RecallRequest.DESCRIPTOR.fields_by_name
    }
    plain = recall_pb2.RecallRequest(**same)
    plain.axes.agent_id = request.agent_id
    if common_pb2.AXIS_AGENT_ID in plain.any_axis:
        raise InvalidField("any_axis", "agent_id is required here")
    return plain


def _check_entries(entries: Sequence[recall_pb2.ContextEntry]) -> None:
    counted("external_context", entries, 0, ENTRIES)
    size = 0
    for i, entry in enumerate(entries):
        for name in ("role", "name", "user_id", "timestamp"):
            bounded(f"external_context[{i}].{name}", getattr(entry, name), NAME_LENGTH)
        size += sum(len(value.encode()) for _, value in entry.ListFields())
    if size > CONTEXT_BYTES:
        raise InvalidField(
            "external_context",
            f"all entries together must have at most {CONTEXT_BYTES} bytes of UTF-8 "
            f"in role, name, user_id, content and timestamp, have {size}",
        )
