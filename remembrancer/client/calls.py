"""One function per call: its arguments in, the request and where it goes out. Sync and async clients share them.

Unset arguments stand for the server's defaults, which the protos state. Calls that change something carry a fresh
`request_id` unless one is given, so that a retry does nothing twice.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from remembrancer.client.arguments import AxesLike, Given, Moment, ScopeLike, StructLike, build, to_scope
from remembrancer.client.enums import EnumLike
from remembrancer.v1 import common_pb2, memory_pb2, recall_pb2, session_pb2

READ_S = 5.0
WRITE_S = 60.0

R = TypeVar("R", bound=Message)


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """A call that is ready to go.

    Its method with its service, such as "RecallService/Recall", the request, the class of its answer, and its deadline
    in seconds.
    """

    method: str
    request: Any
    response: type[R]
    timeout: float

    @property
    def path(self) -> str:
        """What gRPC names the method by."""
        return f"/remembrancer.v1.{self.method}"


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


def recall(
    query: str,
    *,
    scope: ScopeLike,
    session_id: str = "",
    mode: EnumLike = 0,
    top_k: int | None = None,
    min_score: float | None = None,
    task_context: StructLike | None = None,
    evidence: EnumLike = 0,
    include_timeline: bool = False,
    probable_answer: bool | None = None,
    axes: AxesLike | None = None,
    any_axis: Iterable[EnumLike] = (),
    kinds: Iterable[EnumLike] = (),
    types: Iterable[EnumLike] = (),
    occurred_after: Moment | None = None,
    occurred_before: Moment | None = None,
    as_of: Moment | None = None,
    include_superseded: bool = False,
    require_tiers: Iterable[EnumLike] = (),
    session_key: str = "",
    request_id: str | None = None,
    timeout: float = READ_S,
) -> Call[recall_pb2.RecallResponse]:
    """Recall memories; `mode="deep"` asks the graph, too."""
    request = build(
        recall_pb2.RecallRequest,
        query=query,
        scope=to_scope(scope),
        session_id=session_id,
        mode=mode,
        top_k=top_k,
        min_score=min_score,
        task_context=task_context,
        evidence=evidence,
        include_timeline=include_timeline,
        probable_answer=probable_answer,
        axes=axes,
        any_axis=any_axis,
        kinds=kinds,
        types=types,
        occurred_after=occurred_after,
        occurred_before=occurred_before,
        as_of=as_of,
        include_superseded=include_superseded,
        require_tiers=require_tiers,
        session_key=session_key,
        request_id=fresh_id(request_id),
    )
    return Call("RecallService/Recall", request, recall_pb2.RecallResponse, timeout)


def remember(
    memories: Iterable[Given[memory_pb2.MemoryInput]],
    *,
    scope: ScopeLike,
    axes: AxesLike | None = None,
    session_id: str = "",
    session_key: str = "",
    request_id: str | None = None,
    timeout: float = WRITE_S,
) -> Call[memory_pb2.RememberResponse]:
    """Store 1 to 100 statements, all or none: `remember([memory("fact", "...")], scope=...)`."""
    request = build(
        memory_pb2.RememberRequest,
        scope=to_scope(scope),
        memories=memories,
        axes=axes,
        session_id=session_id,
        session_key=session_key,
        request_id=fresh_id(request_id),
    )
    return Call("MemoryService/Remember", request, memory_pb2.RememberResponse, timeout)


def record_turns(
    turns: Iterable[Given[memory_pb2.TurnInput]],
    *,
    scope: ScopeLike,
    axes: AxesLike | None = None,
    session_id: str = "",
    session_key: str = "",
    source: Given[common_pb2.SourceInfo] | None = None,
    request_id: str | None = None,
    timeout: float = WRITE_S,
) -> Call[memory_pb2.RecordTurnsResponse]:
    """Store 1 to 100 conversation turns, all or none, oldest first: `record_turns([turn("...", name="Ada")], ...)`."""
    request = build(
        memory_pb2.RecordTurnsRequest,
        scope=to_scope(scope),
        turns=turns,
        axes=axes,
        session_id=session_id,
        session_key=session_key,
        source=source,
        request_id=fresh_id(request_id),
    )
    return Call("MemoryService/RecordTurns", request, memory_pb2.RecordTurnsResponse, timeout)


def fresh_id(given: str | None) -> str:
    """Return the given request_id, a new one for None."""
    return str(uuid.uuid4()) if given is None else given


def serialize(request: Any) -> bytes:
    """Return a request's bytes."""
    return bytes(request.SerializeToString())
