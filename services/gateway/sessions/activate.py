"""Activate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.auto_project import resolve_auto
from remembrancer.model.axes import check_axes, for_read
from remembrancer.model.errors import EncoderUnavailable, InvalidField
from remembrancer.model.fusion import RELEVANCE_FLOOR
from remembrancer.model.ids import SessionRef, is_continuity, new_continuity, new_token
from remembrancer.model.limits import TEXT_LENGTH
from remembrancer.model.scope import ScopeKey, require_path
from remembrancer.model.task_context import check_context, texts_of
from remembrancer.model.text import request_id, require, trimmed
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Read
from remembrancer.store.sessions import enter_retrieval, new_retrieval, open_session, touch
from remembrancer.store.traces import trace_answer
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from services.gateway.recall.assembly import Texts, recall_response
from services.gateway.recall.retrieval import (
    PartitionState,
    Retrieval,
    ledger_entry,
    plan_retrieval,
    read_partition_state,
    texts_for,
)
from services.gateway.requests import enums
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import TOP_K_MAX, whole_number
from services.gateway.search.searcher import Found, Question
from services.gateway.shared.idempotency import WRITES_MS, FirstAnswer, Idempotency
from services.gateway.shared.named_sessions import gone_sessions, sample_of_sessions
from services.gateway.shared.parts import Parts
from services.gateway.shared.retries import apply_once

RPC: Final = "Activate"
TOP_K: Final = 5
SEARCH_SECONDS: Final = 5.0
"""The longest that a session waits for what is remembered: it opens without it, too."""


@dataclass(frozen=True, slots=True)
class _Checked:
    scope: ScopeKey
    query: str
    top_k: int
    context: dict[str, Any]
    axes: common_pb2.Axes


async def activate(parts: Parts, request: session_pb2.ActivateRequest, call: Call) -> session_pb2.ActivateResponse:
    """Open a session; its first retrieval is in the ledger before this returns."""
    checked = _check(request)
    keys = PartitionKeys.of(checked.scope.path)
    idempotency = Idempotency.of(keys, call.caller, RPC, request, request.request_id, WRITES_MS)
    reads = [*_continuity_reads(keys, request), sample_of_sessions(keys, call.caller)]
    state = await read_partition_state(parts, keys, checked.query, idempotency, reads)
    if state.first is not None:
        return await _again(parts, keys, state.first.answer)
    continuity = _continuity(request, state.extra, call.caller)
    # For the whole session: what it reads, what it writes, and the episode that it leaves.
    axes, project, warnings = resolve_auto(checked.axes, parts.operating_context.projects)
    checked = replace(checked, axes=axes)
    gone = await gone_sessions(parts.store, keys, state.extra[-1], state.now_ms, parts.retention)
    found = await parts.searcher.search(
        _question(checked, keys, state), min(call.seconds_left, SEARCH_SECONDS), may_fail=True
    )
    session = SessionRef(keys.partition, new_token())
    retrieval = Retrieval(
        ref=new_retrieval(keys.partition, session),
        caller=call.caller,
        origin=session_pb2.RETRIEVAL_ORIGIN_ACTIVATE,
        scope=checked.scope.path,
        partition=state,
        texts=[checked.query, *texts_of(checked.context)],
        as_of=state.at,
        mode=recall_pb2.RECALL_MODE_ACTIVE,
        evidence=request.evidence,
        project=project,
        warnings=warnings,
    )
    plan = _session_plan(session, continuity, request, state, found)
    plan.recall.CopyFrom(await plan_retrieval(parts, retrieval, found))
    change = Change(keys)
    info = _info(request, checked, call, continuity, state)
    open_session(change, session, info, checked.context, parts.retention)
    if gone:
        change.write("ZREM", keys.sessions_of(call.caller), *gone)
    enter_retrieval(change, retrieval.ref, ledger_entry(retrieval, plan.recall, found), parts.retention)
    touch(change, session, call.caller, parts.retention)
    idempotency.remember(change, plan)
    trace_answer(change, state.now_ms)
    outcome = await apply_once(parts, change, idempotency)
    if isinstance(outcome, FirstAnswer):
        return await _again(parts, keys, outcome.answer)
    return await _response(plan, Texts(found.records, found.learned), parts)


def _check(request: session_pb2.ActivateRequest) -> _Checked:
    task = trimmed(require("task", request.task, TEXT_LENGTH))
    goal = trimmed(require("initial_goal", request.initial_goal, TEXT_LENGTH))
    scope = require_path(request.scope)
    enums.known("evidence", recall_pb2.EvidenceMode, request.evidence)
    request_id(request.request_id)
    return _Checked(
        scope=scope,
        query=f"{task}\n{goal}",
        top_k=whole_number("top_k", request.top_k if request.HasField("top_k") else None, TOP_K, 1, TOP_K_MAX),
        context=check_context(request.task_context) if request.HasField("task_context") else {},
        axes=check_axes(request.axes),
    )


def _continuity_reads(keys: PartitionKeys, request: session_pb2.ActivateRequest) -> Sequence[Read]:
    known = request.HasField("continuity_id") and is_continuity(request.continuity_id)
    return [("GET", keys.continuity(request.continuity_id))] if known else []


def _continuity(request: session_pb2.ActivateRequest, found: list[Any], caller: str) -> str:
    """Return the continuity id to use. Errors: InvalidField, the same for unknown, malformed and foreign ones."""
    if not request.HasField("continuity_id"):
        return new_continuity()
    owner = found[0] if is_continuity(request.continuity_id) else None
    if owner is None or owner.decode() != caller:
        raise InvalidField("continuity_id", "is not one that this scope gave you; leave it out to start anew")
    return request.continuity_id


def _question(checked: _Checked, keys: PartitionKeys, state: PartitionState) -> Question:
    return Question(
        partition=keys.partition,
        head=state.head,
        query=checked.query,
        speakers=state.speakers,
        context=checked.context,
        filter=tier_pb2.Filter(axes=for_read(common_pb2.Axes(), checked.axes, ())),
        as_of=state.at,
        tiers=(common_pb2.TIER_ACTIVE,),
        top_k=checked.top_k,
        floor=RELEVANCE_FLOOR,
    )


def _session_plan(
    session: SessionRef, continuity: str, request: session_pb2.ActivateRequest, state: PartitionState, found: Found
) -> store_pb2.ActivatePlan:
    # Without the active tier's word, a scope that was written to counts as holding something.
    error = found.errors.get(common_pb2.TIER_ACTIVE)
    unheard = error is not None and not isinstance(error, EncoderUnavailable)
    any_live = state.ever_written if unheard else found.any_live
    return store_pb2.ActivatePlan(
        session_id=str(session),
        continuity_id=continuity,
        continuity_state=(
            session_pb2.CONTINUITY_STATE_CONTINUED
            if request.HasField("continuity_id")
            else session_pb2.CONTINUITY_STATE_STARTED
        ),
        memory_state=session_pb2.MEMORY_STATE_AVAILABLE if any_live else session_pb2.MEMORY_STATE_COLD_START,
    )


def _info(
    request: session_pb2.ActivateRequest, checked: _Checked, call: Call, continuity: str, state: PartitionState
) -> store_pb2.SessionInfo:
    return store_pb2.SessionInfo(
        caller=call.caller,
        scope=checked.scope.path,
        task=request.task,
        initial_goal=request.initial_goal,
        axes=checked.axes,
        continuity_id=continuity,
        opened_at=state.at,
    )


async def _again(parts: Parts, keys: PartitionKeys, answer: bytes) -> session_pb2.ActivateResponse:
    plan = store_pb2.ActivatePlan.FromString(answer)
    return await _response(plan, await texts_for(parts, keys, plan.recall), parts)


async def _response(plan: store_pb2.ActivatePlan, texts: Texts, parts: Parts) -> session_pb2.ActivateResponse:
    found = await recall_response(plan.recall, texts, parts.tokens)
    response = session_pb2.ActivateResponse(
        session_id=plan.session_id,
        continuity_id=plan.continuity_id,
        continuity_state=plan.continuity_state,
        memory_state=plan.memory_state,
        retrieval_id=found.retrieval_id,
        hits=found.hits,
        procedures=found.procedures,
        evidence=found.evidence,
        evidence_truncated=found.evidence_truncated,
        evidence_mode=found.evidence_mode,
        more_available=found.more_available,
        usage=found.usage,
        warnings=found.warnings,
        confidence=found.confidence,
    )
    if found.HasField("active_tier_error"):
        response.active_tier_error.CopyFrom(found.active_tier_error)
    if found.HasField("resolved_project_id"):
        response.resolved_project_id = found.resolved_project_id
    return response
