"""The calls of SessionService."""

from __future__ import annotations

from collections.abc import Iterable

from remembrancer.client.arguments import AxesLike, Given, ScopeLike, StructLike, build, to_scope
from remembrancer.client.call import READ_S, WRITE_S, Call, fresh_id
from remembrancer.client.enums import EnumLike
from remembrancer.v1 import session_pb2


def activate(
    task: str,
    initial_goal: str,
    *,
    scope: ScopeLike,
    task_context: StructLike | None = None,
    continuity_id: str | None = None,
    axes: AxesLike | None = None,
    evidence: EnumLike = 0,
    top_k: int | None = None,
    request_id: str | None = None,
    timeout: float = WRITE_S,
) -> Call[session_pb2.ActivateResponse]:
    """Open a session for one task and recall what is relevant to it."""
    request = build(
        session_pb2.ActivateRequest,
        task=task,
        initial_goal=initial_goal,
        scope=to_scope(scope),
        task_context=task_context,
        continuity_id=continuity_id,
        axes=axes,
        evidence=evidence,
        top_k=top_k,
        request_id=fresh_id(request_id),
    )
    return Call("SessionService/Activate", request, session_pb2.ActivateResponse, timeout)


def feedback(
    retrieval_id: str = "",
    *,
    memory_feedback: Iterable[Given[session_pb2.MemoryFeedback]] = (),
    procedure_feedback: Iterable[Given[session_pb2.ProcedureFeedback]] = (),
    coverage: EnumLike = 0,
    remaining: EnumLike = 0,
    retrieval_quality: EnumLike = 0,
    missing: Iterable[str] = (),
    items: Iterable[Given[session_pb2.FeedbackItem]] = (),
    request_id: str | None = None,
    timeout: float = WRITE_S,
) -> Call[session_pb2.FeedbackResponse]:
    """Say what became of what a retrieval exposed.

    `coverage="complete"` declares that nothing is left out; the clients raise FeedbackRejectedError, with the answer in
    it, when that is refused. Without it, what was not accepted is in the answer's `results[0].rejected`.
    """
    request = build(
        session_pb2.FeedbackRequest,
        retrieval_id=retrieval_id,
        memory_feedback=memory_feedback,
        procedure_feedback=procedure_feedback,
        coverage=coverage,
        remaining=remaining,
        retrieval_quality=retrieval_quality,
        missing=missing,
        items=items,
        request_id=fresh_id(request_id),
    )
    return Call("SessionService/Feedback", request, session_pb2.FeedbackResponse, timeout)


def commit(
    session_id: str,
    *,
    scope: ScopeLike,
    final_goal: str,
    outcome: EnumLike,
    outcome_summary: str,
    verification: Given[session_pb2.Verification] | None = None,
    procedure: Given[session_pb2.ProcedureInput] | None = None,
    trajectory: Iterable[Given[session_pb2.TrajectoryEntry]] = (),
    session_key: str = "",
    request_id: str | None = None,
    timeout: float = WRITE_S,
) -> Call[session_pb2.CommitResponse]:
    """Close a session; raises FeedbackIncompleteError while a retrieval is not covered."""
    request = build(
        session_pb2.CommitRequest,
        session_id=session_id,
        scope=to_scope(scope),
        final_goal=final_goal,
        outcome=outcome,
        outcome_summary=outcome_summary,
        verification=verification,
        procedure=procedure,
        trajectory=trajectory,
        session_key=session_key,
        request_id=fresh_id(request_id),
    )
    return Call("SessionService/Commit", request, session_pb2.CommitResponse, timeout)


def abandon_session(
    session_id: str, *, scope: ScopeLike, request_id: str | None = None, timeout: float = WRITE_S
) -> Call[session_pb2.AbandonSessionResponse]:
    """Close an open session without an outcome."""
    request = build(
        session_pb2.AbandonSessionRequest, session_id=session_id, scope=to_scope(scope), request_id=fresh_id(request_id)
    )
    return Call("SessionService/AbandonSession", request, session_pb2.AbandonSessionResponse, timeout)


def get_session(
    session_id: str, *, scope: ScopeLike, page_size: int = 0, page_token: str = "", timeout: float = READ_S
) -> Call[session_pb2.GetSessionResponse]:
    """Show a session with its retrievals and what is outstanding."""
    request = build(
        session_pb2.GetSessionRequest,
        session_id=session_id,
        scope=to_scope(scope),
        page_size=page_size,
        page_token=page_token,
    )
    return Call("SessionService/GetSession", request, session_pb2.GetSessionResponse, timeout)


def list_sessions(
    *,
    scope: ScopeLike,
    states: Iterable[EnumLike] = (),
    page_size: int = 0,
    page_token: str = "",
    timeout: float = READ_S,
) -> Call[session_pb2.ListSessionsResponse]:
    """List the caller's sessions of a scope, newest first."""
    request = build(
        session_pb2.ListSessionsRequest,
        scope=to_scope(scope),
        states=states,
        page_size=page_size,
        page_token=page_token,
    )
    return Call("SessionService/ListSessions", request, session_pb2.ListSessionsResponse, timeout)
