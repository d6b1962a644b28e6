"""Recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import timestamp_pb2
from google.protobuf.message import Message

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.auto_project import resolve_auto
from remembrancer.model.axes import check_axes, for_read
from remembrancer.model.clock import check_timestamp, from_ms
from remembrancer.model.errors import Conflict, InvalidField
from remembrancer.model.ids import RetrievalRef, SessionRef
from remembrancer.model.scope import AXIS_LENGTH, ScopeKey, parse_scope
from remembrancer.model.task_context import check_context, merge, texts_of, to_json
from remembrancer.model.text import bounded, request_id, require, trimmed
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from remembrancer.store.sessions import (
    Session,
    enter_retrieval,
    new_retrieval,
    require_open,
    session_reads,
    touch,
)
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from services.gateway.recall.assembly import Texts, recall_response
from services.gateway.recall.plan import exposed, plan_recall
from services.gateway.recall.retrieval import Look, look, texts_for
from services.gateway.requests import enums
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import QUERY_LENGTH, TOP_K_MAX, share, whole_number
from services.gateway.search.searcher import Found, Question
from services.gateway.shared.fragmentation import fragmentation
from services.gateway.shared.named_sessions import must_take_retrieval, named, owned, read_owned, refuse_foreign
from services.gateway.shared.parts import Parts
from services.gateway.shared.replay import RECALLS_MS, RequestMemory, Seen
from services.gateway.shared.retries import apply_once, tries

RPC: Final = "Recall"
TOP_K_ACTIVE: Final = 15
TOP_K_DEEP: Final = 25
ATTEMPTS: Final = 64
"""Tries to write the ledger while other calls change the same session's context."""

_TIERS: Final = {
    recall_pb2.RECALL_MODE_ACTIVE: (common_pb2.TIER_ACTIVE,),
    recall_pb2.RECALL_MODE_DEEP: (common_pb2.TIER_ACTIVE, common_pb2.TIER_DEEP),
}


@dataclass(frozen=True, slots=True)
class Checked:
    """The checked fields of a recall."""

    scope: ScopeKey
    query: str
    mode: recall_pb2.RecallMode.ValueType
    top_k: int
    floor: float | None
    context: dict[str, Any] | None
    axes: common_pb2.Axes


@dataclass(frozen=True, slots=True)
class Opening:
    """A checked recall that may go on: what it found in the store before it searched.

    `first` is the first answer when the same request came in earlier; then nothing else counts. `context` is the merged
    task context, `axes` are what filters, `project` is what `@auto` was resolved to.
    """

    keys: PartitionKeys
    ref: SessionRef | None
    memory: RequestMemory
    seen: Look
    session: Session | None
    context: dict[str, Any]
    axes: common_pb2.Axes
    project: str | None
    warnings: list[common_pb2.Warning]

    @property
    def first(self) -> bytes | None:
        """The first answer to the same request."""
        return self.seen.seen.answer if self.seen.seen is not None else None


async def recall(parts: Parts, request: recall_pb2.RecallRequest, call: Call) -> recall_pb2.RecallResponse:
    """Answer a Recall; its retrieval is in the ledger before this returns."""
    checked = check(request)
    opening = await open_recall(parts, request, checked, call, RPC, request)
    if opening.first is not None:
        return await _again(parts, opening.keys, opening.first)
    found = await parts.searcher.search(question(request, checked, opening), call.seconds_left)
    retrieval = new_retrieval(opening.keys.partition, opening.ref)
    plan = await plan_of(parts, request, checked, opening, found, retrieval)
    answer_into(plan, parts, request, checked, opening, found, call)
    entry = store_pb2.Retrieval(
        caller=call.caller,
        origin=session_pb2.RETRIEVAL_ORIGIN_RECALL,
        at=from_ms(opening.seen.now_ms),
        exposed=exposed(plan, found.records),
    )
    first = await enter(parts, opening, call, checked, retrieval, entry, plan)
    if first is not None:
        return await _again(parts, opening.keys, first)
    count_recall(parts, opening.keys, call, request.session_key, found)
    return recall_response(plan, Texts(found.records, found.learned), parts.tokens)


async def open_recall(
    parts: Parts, request: recall_pb2.RecallRequest, checked: Checked, call: Call, rpc: str, body: Message
) -> Opening:
    """Look at partition and session; `body` is what a repeated request_id is compared with.

    Errors: what is wrong with the session; RequestIdReused, StoreUnavailable.
    """
    keys = PartitionKeys.of(checked.scope.path)
    ref = None if checked.scope.tenant else named(request.session_id, required=True)
    if ref is not None:
        await refuse_foreign(parts.store, ref, keys.partition, call.caller, parts.retention)
    memory = RequestMemory.of(keys, call.caller, rpc, body, request.request_id, RECALLS_MS)
    seen = await look(parts, keys, checked.query, memory, [session_reads(ref)] if ref else [])
    session = owned(ref, seen.extra[0], seen.now_ms, call.caller, parts.retention) if ref else None
    context = checked.context or {}
    if session is not None and seen.seen is None:
        must_take_retrieval(session, parts.session_retrievals)
        context = merge(session.context, context)
    axes = for_read(checked.axes, session.info.axes if session is not None else common_pb2.Axes(), request.any_axis)
    axes, project, warnings = resolve_auto(axes, parts.operating_context.projects)
    return Opening(keys, ref, memory, seen, session, context, axes, project, warnings)


def check(request: recall_pb2.RecallRequest, *, blank: bool = False) -> Checked:
    """Check everything but the session; `blank`: whether the query may be so. Errors: InvalidField."""
    (bounded if blank else require)("query", request.query, QUERY_LENGTH)
    scope = parse_scope(request.scope)
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
    return Checked(
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


def question(request: recall_pb2.RecallRequest, checked: Checked, opening: Opening) -> Question:
    """Return what is to be searched."""
    return Question(
        partition=opening.keys.partition,
        head=opening.seen.head,
        query=checked.query,
        speakers=opening.seen.speakers,
        context=opening.context,
        filter=tier_pb2.Filter(
            axes=opening.axes,
            kinds=request.kinds,
            types=request.types,
            occurred_after=request.occurred_after if request.HasField("occurred_after") else None,
            occurred_before=request.occurred_before if request.HasField("occurred_before") else None,
            include_superseded=request.include_superseded,
        ),
        as_of=_as_of(request, opening.seen),
        tiers=_TIERS[checked.mode],
        top_k=checked.top_k,
        floor=checked.floor,
        required=request.require_tiers,
    )


def _as_of(request: recall_pb2.RecallRequest, seen: Look) -> timestamp_pb2.Timestamp:
    return request.as_of if request.HasField("as_of") else from_ms(seen.now_ms)


async def plan_of(
    parts: Parts,
    request: recall_pb2.RecallRequest,
    checked: Checked,
    opening: Opening,
    found: Found,
    retrieval: RetrievalRef,
) -> store_pb2.RecallPlan:
    """Return the plan of the answer."""
    seen = opening.seen
    warnings = opening.warnings + await fragmentation(parts, checked.scope.path, seen.ever_written)
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
    plan.tokens_in = parts.tokens.count([checked.query, *texts_of(checked.context)])
    if opening.project is not None:
        plan.resolved_project_id = opening.project
    return plan


def answer_into(
    plan: store_pb2.RecallPlan,
    parts: Parts,
    request: recall_pb2.RecallRequest,
    checked: Checked,
    opening: Opening,
    found: Found,
    call: Call,
) -> None:
    """Put the probable answer into the plan, unless the caller wants none."""
    if request.probable_answer or not request.HasField("probable_answer"):
        speakers = opening.seen.speakers
        plan.answer.CopyFrom(parts.answerer.plan(checked.query, speakers, plan.as_of, found, call.seconds_left))


async def enter(
    parts: Parts,
    opening: Opening,
    call: Call,
    checked: Checked,
    retrieval: RetrievalRef,
    entry: store_pb2.Retrieval,
    answer: Message,
) -> bytes | None:
    """Write a retrieval into the ledger, and `answer` into the replay memory.

    Returns the first answer when the same request came in meanwhile. Errors: what is wrong with the session by now;
    Conflict, StoreUnavailable, WriteNotDurable.
    """
    session, memory = opening.session, opening.memory
    async for attempt in tries(ATTEMPTS):
        if attempt and session is not None:
            session = await _reread(parts, call, session)
        change = Change(opening.keys)
        if session is not None:
            require_open(change, session.ref, parts.retention)
            _extend(change, session, checked.context, parts.session_retrievals)
        enter_retrieval(change, retrieval, entry, parts.retention)
        if session is not None:
            touch(change, session.ref, call.caller, parts.retention)
        memory.remember(change, answer)
        match await apply_once(parts, change, memory):
            case Applied():
                return None
            case Seen(first):
                return first
    raise Conflict("the session changed too often meanwhile; try again")


def count_recall(parts: Parts, keys: PartitionKeys, call: Call, session_key: str, found: Found) -> None:
    """Count the direct observations and turns of an answer; episodes are not counted."""
    counted = (store_pb2.RECORD_KIND_OBSERVATION, store_pb2.RECORD_KIND_TURN)
    ns = [c.n for c in found.direct if found.records[c.n].kind in counted]
    parts.counters.bump(keys, ns, keys.pause(call.caller, session_key))


def _extend(change: Change, session: Session, update: dict[str, Any] | None, limit: int) -> None:
    """Save the merged context and keep the session below its limit."""
    key = change.keys.session(session.ref.ledger)
    change.require_below("session size", key, "count", limit)
    if update:
        change.require_same("session context", key, "ctx", session.raw["ctx"])
        change.write("HSET", key, "ctx", to_json(merge(session.context, update)))


async def _reread(parts: Parts, call: Call, session: Session) -> Session:
    """Return the session as it is now. Errors: what is wrong with it by now."""
    again = await read_owned(parts.store, session.ref, call.caller, parts.retention)
    must_take_retrieval(again, parts.session_retrievals)
    return again


async def _again(parts: Parts, keys: PartitionKeys, answer: bytes) -> recall_pb2.RecallResponse:
    plan = store_pb2.RecallPlan.FromString(answer)
    return recall_response(plan, await texts_for(parts, keys, plan), parts.tokens)
