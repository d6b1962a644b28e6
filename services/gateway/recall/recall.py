"""Recall."""

from __future__ import annotations

from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.store.keys import PartitionKeys
from remembrancer.v1 import recall_pb2, session_pb2
from services.gateway.recall.assembly import Texts, recall_response
from services.gateway.recall.checks import check_recall
from services.gateway.recall.ledger import count_recall, enter
from services.gateway.recall.recall_state import plan_answer, question, read_recall_state
from services.gateway.recall.retrieval import ledger_entry, plan_retrieval, texts_for
from services.gateway.requests.calls import Call
from services.gateway.shared.idempotency import RECALLS_MS, Idempotency
from services.gateway.shared.parts import Parts

RPC: Final = "Recall"


async def recall(parts: Parts, request: recall_pb2.RecallRequest, call: Call) -> recall_pb2.RecallResponse:
    """Answer a Recall; its retrieval is in the ledger before this returns."""
    checked = check_recall(request)
    idempotency = Idempotency.of(checked.keys, call.caller, RPC, request, request.request_id, RECALLS_MS)
    state = await read_recall_state(parts, checked, idempotency, call, session_pb2.RETRIEVAL_ORIGIN_RECALL)
    if state.first is not None:
        return await _again(parts, checked.keys, state.first)
    found = await parts.searcher.search(question(state), call.seconds_left)
    with parts.searcher.rest_of_call(found):
        plan = await plan_retrieval(parts, state.retrieval, found)
        plan.include_timeline = request.include_timeline
        if checked.wants_answer:
            plan.answer.CopyFrom(plan_answer(parts, state, found, call))
        first = await enter(parts, state, ledger_entry(state.retrieval, plan, found), plan)
    if first is not None:
        return await _again(parts, checked.keys, first)
    count_recall(parts, state, found)
    return await recall_response(plan, Texts(found.records, found.learned), parts.tokens)


async def _again(parts: Parts, keys: PartitionKeys, answer: bytes) -> recall_pb2.RecallResponse:
    plan = store_pb2.RecallPlan.FromString(answer)
    return await recall_response(plan, await texts_for(parts, keys, plan), parts.tokens)
