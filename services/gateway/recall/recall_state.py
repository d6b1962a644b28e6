"""What Recall and RecallWithContext share before they search: the state they start from, and the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.auto_project import resolve_auto
from remembrancer.model.axes import for_read, without_filter
from remembrancer.model.task_context import merge, texts_of
from remembrancer.store.sessions import Session, new_retrieval, session_reads
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from services.gateway.recall.checks import CheckedRecall
from services.gateway.recall.retrieval import Retrieval, read_partition_state
from services.gateway.requests.calls import Call
from services.gateway.search.searcher import Found, Question
from services.gateway.shared.idempotency import Idempotency
from services.gateway.shared.named_sessions import must_take_retrieval, named, owned, refuse_foreign
from services.gateway.shared.parts import Parts

_TIERS: Final = {
    recall_pb2.RECALL_MODE_ACTIVE: (common_pb2.TIER_ACTIVE,),
    recall_pb2.RECALL_MODE_DEEP: (common_pb2.TIER_ACTIVE, common_pb2.TIER_DEEP),
}

_SESSION_IGNORED: Final = common_pb2.Warning(
    code=common_pb2.WARNING_CODE_SESSION_ID_IGNORED,
    message="a tenant recall belongs to no session; session_id was ignored",
)


@dataclass(frozen=True, slots=True)
class RecallState:
    """What a checked recall found in the store before it searched.

    `session` is None for a tenant, `context` is the merged task context, `axes` are what filters.
    """

    checked: CheckedRecall
    idempotency: Idempotency
    session: Session | None
    context: dict[str, Any]
    axes: common_pb2.Axes
    retrieval: Retrieval

    @property
    def first(self) -> bytes | None:
        """The first answer, when the same request came in earlier; then nothing else counts."""
        first = self.retrieval.partition.first
        return first.answer if first is not None else None


async def read_recall_state(
    parts: Parts,
    checked: CheckedRecall,
    idempotency: Idempotency,
    call: Call,
    origin: session_pb2.RetrievalOrigin.ValueType,
) -> RecallState:
    """Look at partition and session.

    Errors: what is wrong with the session; RequestIdReused, StoreUnavailable.
    """
    request, keys = checked.request, checked.keys
    ref = None if checked.scope.tenant else named(request.session_id, required=True)
    if ref is not None:
        await refuse_foreign(parts.store, ref, keys.partition, call.caller, parts.retention)
    partition = await read_partition_state(
        parts, keys, checked.query, idempotency, [session_reads(ref)] if ref is not None else []
    )
    session = owned(ref, partition.extra[0], partition.now_ms, call.caller, parts.retention) if ref else None
    context = checked.context or {}
    if session is not None and partition.first is None:
        must_take_retrieval(session, parts.session_retrievals)
        context = merge(session.context, context)
    lent = session.info.axes if session is not None else common_pb2.Axes()
    axes = for_read(checked.axes, lent, without_filter(request.any_axis, checked.scope))
    axes, project, warnings = resolve_auto(axes, parts.operating_context.projects)
    if checked.scope.tenant and request.session_id:
        warnings = [*warnings, _SESSION_IGNORED]
    retrieval = Retrieval(
        ref=new_retrieval(keys.partition, ref),
        caller=call.caller,
        origin=origin,
        scope=checked.scope.path,
        partition=partition,
        texts=[checked.query, *texts_of(checked.context)],
        as_of=request.as_of if request.HasField("as_of") else partition.at,
        mode=checked.mode,
        evidence=request.evidence,
        project=project,
        warnings=warnings,
    )
    return RecallState(checked, idempotency, session, context, axes, retrieval)


def question(state: RecallState) -> Question:
    """Return what is to be searched."""
    checked, request, retrieval = state.checked, state.checked.request, state.retrieval
    return Question(
        partition=retrieval.ref.partition,
        head=retrieval.partition.head,
        query=checked.query,
        speakers=retrieval.partition.speakers,
        context=state.context,
        filter=tier_pb2.Filter(
            axes=state.axes,
            kinds=request.kinds,
            types=request.types,
            occurred_after=request.occurred_after if request.HasField("occurred_after") else None,
            occurred_before=request.occurred_before if request.HasField("occurred_before") else None,
            include_superseded=request.include_superseded,
        ),
        as_of=retrieval.as_of,
        tiers=_TIERS[checked.mode],
        top_k=checked.top_k,
        floor=checked.floor,
        required=request.require_tiers,
    )


def plan_answer(parts: Parts, state: RecallState, found: Found, call: Call) -> store_pb2.PlannedAnswer:
    """Return the probable answer among what was found, or why there is none."""
    speakers, as_of = state.retrieval.partition.speakers, state.retrieval.as_of
    return parts.answerer.plan(state.checked.query, speakers, as_of, found, call.seconds_left)
