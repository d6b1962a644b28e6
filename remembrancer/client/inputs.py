"""What calls take: scopes, selections, statements, turns, context, assessments, what a commit tells of its session.

Wherever one of these is taken, a mapping with the same names does as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from remembrancer.client.arguments import AxesLike, Given, Moment, StructLike, build
from remembrancer.client.enums import EnumLike
from remembrancer.v1 import common_pb2, memory_pb2, recall_pb2, record_pb2, session_pb2


def tenant(org_id: str, user_id: str = "", session_id: str = "") -> common_pb2.Scope:
    """Return the stateless form of a scope."""
    return build(
        common_pb2.Scope, tenant=build(common_pb2.TenantScope, org_id=org_id, user_id=user_id, session_id=session_id)
    )


def memory(
    type: EnumLike,  # noqa: A002
    content: str,
    *,
    occurred_at: Moment | None = None,
    axes: AxesLike | None = None,
    source: Given[common_pb2.SourceInfo] | None = None,
) -> memory_pb2.MemoryInput:
    """Return a statement for `remember`, such as `memory("fact", "the build runs on arm64")`.

    `occurred_at` is a datetime; one without a zone is read as UTC.
    """
    return build(memory_pb2.MemoryInput, type=type, content=content, occurred_at=occurred_at, axes=axes, source=source)


def turn(
    content: str, *, name: str = "", role: str = "", timestamp: str | datetime = "", msg_id: str = ""
) -> memory_pb2.TurnInput:
    """Return a conversation turn for `record_turns`.

    `timestamp` is a datetime, or text in RFC 3339 or ISO 8601; without a zone it is read as UTC.
    """
    return build(memory_pb2.TurnInput, content=content, name=name, role=role, timestamp=timestamp, msg_id=msg_id)


def memory_feedback(
    memory_id: str,
    assessment: EnumLike,
    *,
    effect: EnumLike = 0,
    stale_reason: EnumLike = 0,
    reason: str = "",
    replacement_memory_id: str = "",
) -> session_pb2.MemoryFeedback:
    """Return the assessment of one exposed memory, such as `memory_feedback(id, "used", effect="helped")`."""
    return build(
        session_pb2.MemoryFeedback,
        memory_id=memory_id,
        assessment=assessment,
        effect=effect,
        stale_reason=stale_reason,
        reason=reason,
        replacement_memory_id=replacement_memory_id,
    )


def procedure_feedback(
    procedure_id: str, assessment: EnumLike, *, effect: EnumLike = 0, contribution: str = "", reason: str = ""
) -> session_pb2.ProcedureFeedback:
    """Return the assessment of one exposed procedure; "used" needs `effect` and `contribution`."""
    return build(
        session_pb2.ProcedureFeedback,
        procedure_id=procedure_id,
        assessment=assessment,
        effect=effect,
        contribution=contribution,
        reason=reason,
    )


def feedback_item(
    retrieval_id: str,
    *,
    memory_feedback: Iterable[Given[session_pb2.MemoryFeedback]] = (),
    procedure_feedback: Iterable[Given[session_pb2.ProcedureFeedback]] = (),
    coverage: EnumLike = 0,
    remaining: EnumLike = 0,
    retrieval_quality: EnumLike = 0,
    missing: Iterable[str] = (),
) -> session_pb2.FeedbackItem:
    """Return the feedback on one retrieval, for `feedback(items=[...])`."""
    return build(
        session_pb2.FeedbackItem,
        retrieval_id=retrieval_id,
        memory_feedback=memory_feedback,
        procedure_feedback=procedure_feedback,
        coverage=coverage,
        remaining=remaining,
        retrieval_quality=retrieval_quality,
        missing=missing,
    )


def procedure(
    summary: str,
    steps: Iterable[str | Given[recall_pb2.ProcedureStep]],
    *,
    caveats: Iterable[str] = (),
    context: StructLike | None = None,
    deduplication_key: str = "",
) -> session_pb2.ProcedureInput:
    """Return the way something was done, for `commit`: `procedure("restore a database", ["stop it", "copy it"])`."""
    return build(
        session_pb2.ProcedureInput,
        summary=summary,
        steps=steps,
        caveats=caveats,
        context=context,
        deduplication_key=deduplication_key,
    )


def trajectory_entry(kind: EnumLike, summary: str, *, status: EnumLike = 0) -> session_pb2.TrajectoryEntry:
    """Return one thing that happened, for `commit`: `trajectory_entry("action", "copied it", status="succeeded")`."""
    return build(session_pb2.TrajectoryEntry, kind=kind, summary=summary, status=status)


def verification(status: EnumLike, summary: str = "", *, evidence_refs: Iterable[str] = ()) -> session_pb2.Verification:
    """Return how an outcome was checked, for `commit`: `verification("verified", "all tests passed")`."""
    return build(session_pb2.Verification, status=status, summary=summary, evidence_refs=evidence_refs)


def context_entry(
    content: str, *, role: str = "", name: str = "", user_id: str = "", timestamp: str | datetime = ""
) -> recall_pb2.ContextEntry:
    """Return an entry of the held conversation; one of role `user` or `assistant` is echoed."""
    return build(recall_pb2.ContextEntry, role=role, name=name, user_id=user_id, content=content, timestamp=timestamp)


def selection(
    *,
    axes: AxesLike | None = None,
    any_axis: Iterable[EnumLike] = (),
    kinds: Iterable[EnumLike] = (),
    types: Iterable[EnumLike] = (),
    occurred_after: Moment | None = None,
    occurred_before: Moment | None = None,
) -> record_pb2.MemorySelection:
    """Return which memories a call is about; `any_axis=["agent_id"]` stands for every agent's."""
    return build(
        record_pb2.MemorySelection,
        axes=axes,
        any_axis=any_axis,
        kinds=kinds,
        types=types,
        occurred_after=occurred_after,
        occurred_before=occurred_before,
    )
