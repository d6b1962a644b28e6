"""Recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.auto_project import settle
from remembrancer.model.axes import check_axes, for_read
from remembrancer.model.clock import check_timestamp, from_ms
from remembrancer.model.errors import Conflict, InvalidField
from remembrancer.model.ids import RetrievalRef
from remembrancer.model.scope import AXIS_LENGTH, ScopeKey, parse_scope
from remembrancer.model.task_context import check_context, cue, merge, to_json
from remembrancer.model.text import bounded, request_id, require, trimmed
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.store.partition import Applied, Conflicted, Replayed
from remembrancer.store.sessions import (
    Session,
    enter_retrieval,
    new_retrieval,
    require_open,
    session_reads,
    touch,
)
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from services.gateway import enums
from services.gateway.assembly import Texts, recall_response
from services.gateway.calls import Call
from services.gateway.limits import QUERY_LENGTH, TOP_K_MAX, share, whole_number
from services.gateway.parts import Parts
from services.gateway.plan import exposed, plan_recall
from services.gateway.replay import RECALLS_MS, RequestMemory
from services.gateway.retrieval import Look, fragmentation, look, texts_for
from services.gateway.search import Found, Question
from services.gateway.sessions import must_take_retrieval, named, owned, refuse_foreign

RPC: Final = "Recall"
TOP_K_ACTIVE: Final = 15
TOP_K_DEEP: Final = 25
ATTEMPTS: Final = 8
"""Tries to write the ledger while other calls change the same session's context."""

_TIERS: Final = {
    recall_pb2.RECALL_MODE_ACTIVE: (common_pb2.TIER_ACTIVE,),
    recall_pb2.RECALL_MODE_DEEP: (common_pb2.TIER_ACTIVE, common_pb2.TIER_DEEP),
}


@dataclass(frozen=True, slots=True)
class _Checked:
    scope: ScopeKey
    query: str
    mode: recall_pb2.RecallMode.ValueType
    top_k: int
    floor: float | None
    context: dict[str, Any] | None
    axes: common_pb2.Axes


async def recall(parts: Parts, request: recall_pb2.RecallRequest, call: Call) -> recall_pb2.RecallResponse:
    """Answer a Recall; its retrieval is in the ledger before this returns."""
    checked = _check(request)
    keys = PartitionKeys(partition_of(checked.scope.path))
    ref = None if checked.scope.tenant else named(request.session_id, required=True)
    if ref is not None:
        await refuse_foreign(parts.store, ref, keys.partition, call.caller, parts.retention)
    memory = RequestMemory.of(keys, call.caller, RPC, request, request.request_id, RECALLS_MS)
    seen = await look(parts, keys, checked.query, memory, [session_reads(ref)] if ref else [])
    session = owned(ref, seen.extra[0], seen.now_ms, call.caller, parts.retention) if ref else None
    if seen.seen is not None:
        return await _again(parts, keys, seen.seen.answer)
    context = checked.context or {}
    if session is not None:
        must_take_retrieval(session, parts.session_retrievals)
        context = merge(session.context, context)
    axes = for_read(checked.axes, session.info.axes if session is not None else common_pb2.Axes(), request.any_axis)
    project, warnings = settle(axes, parts.operating_context.projects)
    found = await parts.searcher.search(_question(request, checked, keys, seen, axes, context), call.seconds_left)
    retrieval = new_retrieval(keys.partition, ref)
    plan = await _plan(parts, request, checked, seen, found, retrieval, warnings)
    if project is not None:
        plan.resolved_project_id = project
    first = await _enter(parts, keys, call, checked, plan, found, retrieval, session, memory, seen.now_ms)
    if first is not None:
        return await _again(parts, keys, first)
    return recall_response(plan, Texts(found.records, found.learned), parts.tokens)


def _check(request: recall_pb2.RecallRequest) -> _Checked:
    require("query", request.query, QUERY_LENGTH)
    scope = parse_scope(request.scope if request.HasField("scope") else None)
    enums.known("mode", recall_pb2.RecallMode, request.mode)
    enums.known("evidence", recall_pb2.EvidenceMode, request.evidence)
    enums.all_known("any_axis", common_pb2.Axis, request.any_axis)
    enums.all_known("kinds", common_pb2.MemoryKind, request.kinds)
    enums.all_known("types", common_pb2.MemoryType, request.types)
    enums.all_known("require_tiers", common_pb2.Tier, request.require_tiers)
    mode = request.mode or recall_pb2.RECALL_MODE_ACTIVE
    deep = mode == recall_pb2.RECALL_MODE_DEEP
    for field in ("occurred_after", "occurred_before", "as_of"):
        if request.HasField(field):
            check_timestamp(field, getattr(request, field))
    if not deep and common_pb2.TIER_DEEP in request.require_tiers:
        raise InvalidField("require_tiers", "TIER_DEEP is asked in mode DEEP only")
    request_id(request.request_id)
    bounded("session_key", request.session_key, AXIS_LENGTH)
    return _Checked(
        scope=scope,
        query=trimmed(request.query),
        mode=mode,
        top_k=whole_number(
            "top_k",
            request.top_k if request.HasField("top_k") else None,
            TOP_K_DEEP if deep else TOP_K_ACTIVE,
            1,
            TOP_K_MAX,
        ),
        floor=share("min_score", request.min_score if request.HasField("min_score") else None),
        context=check_context(request.task_context) if request.HasField("task_context") else None,
        axes=check_axes(request.axes, scope),
    )


def _question(
    request: recall_pb2.RecallRequest,
    checked: _Checked,
    keys: PartitionKeys,
    seen: Look,
    axes: common_pb2.Axes,
    context: dict[str, Any],
) -> Question:
    return Question(
        partition=keys.partition,
        head=seen.head,
        query=checked.query,
        speakers=seen.speakers,
        context=context,
        filter=tier_pb2.Filter(
            axes=axes,
            kinds=request.kinds,
            types=request.types,
            occurred_after=request.occurred_after if request.HasField("occurred_after") else None,
            occurred_before=request.occurred_before if request.HasField("occurred_before") else None,
            include_superseded=request.include_superseded,
        ),
        as_of=_as_of(request, seen),
        tiers=_TIERS[checked.mode],
        top_k=checked.top_k,
        floor=checked.floor,
        required=request.require_tiers,
    )


def _as_of(request: recall_pb2.RecallRequest, seen: Look) -> timestamp_pb2.Timestamp:
    return request.as_of if request.HasField("as_of") else from_ms(seen.now_ms)


async def _plan(
    parts: Parts,
    request: recall_pb2.RecallRequest,
    checked: _Checked,
    seen: Look,
    found: Found,
    retrieval: RetrievalRef,
    warnings: list[common_pb2.Warning],
) -> store_pb2.RecallPlan:
    warnings = warnings + await fragmentation(parts, checked.scope.path, seen.ever_written)
    if checked.scope.tenant and request.session_id:
        warnings.append(
            common_pb2.Warning(
                code=common_pb2.WARNING_CODE_SESSION_ID_IGNORED,
                message="a tenant recall belongs to no session; session_id was ignored",
            )
        )
    plan = plan_recall(str(retrieval), found, _as_of(request, seen), warnings)
    plan.mode = checked.mode
    plan.scope_known = seen.ever_written
    plan.evidence_mode = request.evidence or recall_pb2.EVIDENCE_MODE_REFERENCES
    plan.include_timeline = request.include_timeline
    plan.tokens_in = parts.tokens.count([checked.query, cue(checked.context or {})])
    return plan


async def _enter(
    parts: Parts,
    keys: PartitionKeys,
    call: Call,
    checked: _Checked,
    plan: store_pb2.RecallPlan,
    found: Found,
    retrieval: RetrievalRef,
    session: Session | None,
    memory: RequestMemory,
    now_ms: int,
) -> bytes | None:
    """Write the retrieval into the ledger. Returns the first answer's plan when the same request came in earlier."""
    entry = store_pb2.Retrieval(
        caller=call.caller,
        origin=session_pb2.RETRIEVAL_ORIGIN_RECALL,
        at=from_ms(now_ms),
        exposed=exposed(plan, found.records),
    )
    for _ in range(ATTEMPTS):
        change = Change(keys)
        if session is not None:
            require_open(change, session.ref, parts.retention)
            _extend(change, session, checked.context, parts.session_retrievals)
        enter_retrieval(change, retrieval, entry, parts.retention)
        if session is not None:
            touch(change, session.ref, call.caller, parts.retention)
        memory.remember(change, plan)
        match await parts.store.apply(change):
            case Applied():
                return None
            case Replayed(_, body, answer, base):
                return memory.again(body, answer, base).answer
            case Conflicted() if session is not None:
                session = await _reread(parts, call, session)
    raise Conflict("the session changed too often meanwhile; try again")


def _extend(change: Change, session: Session, update: dict[str, Any] | None, limit: int) -> None:
    """Save the merged context and keep the session below its limit."""
    key = change.keys.session(session.ref.ledger)
    change.require_below("session size", key, "count", limit)
    if update:
        change.require_same("session context", key, "ctx", session.raw["ctx"])
        change.write("HSET", key, "ctx", to_json(merge(session.context, update)))


async def _reread(parts: Parts, call: Call, session: Session) -> Session:
    """Return the session as it is now. Errors: what is wrong with it by now."""
    snapshot = await parts.store.read(session_reads(session.ref))
    again = owned(session.ref, snapshot.answers[0], snapshot.now_ms, call.caller, parts.retention)
    must_take_retrieval(again, parts.session_retrievals)
    return again


async def _again(parts: Parts, keys: PartitionKeys, answer: bytes) -> recall_pb2.RecallResponse:
    plan = store_pb2.RecallPlan.FromString(answer)
    return recall_response(plan, await texts_for(parts, keys, plan), parts.tokens)
