"""Bad input gets the contract's status, reason and field, never a stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from remembrancer.cli.local.service import LocalService
from remembrancer.client import (
    ClientError,
    FeedbackRejectedError,
    InvalidArgument,
    NotFound,
    memory,
    memory_calls,
    memory_feedback,
    recall_calls,
    session_calls,
    tenant,
    turn,
)
from remembrancer.client.call import Call
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from tests.service import Session

Make = Callable[[Session], Call[Any]]


def recall(query: str = "q", **more: Any) -> Make:
    def make(session: Session) -> Call[Any]:
        return recall_calls.recall(query, **{"scope": session.scope, "session_id": session.session_id, **more})

    return make


def activate(**more: Any) -> Make:
    return lambda session: session_calls.activate(**{"task": "t", "initial_goal": "g", "scope": session.scope, **more})


def remember(*memories: Any, **more: Any) -> Make:
    return lambda session: memory_calls.remember(list(memories), **{"scope": session.scope, **more})


def commit(**more: Any) -> Make:
    given = {"final_goal": "g", "outcome": "success", "outcome_summary": "o", **more}
    return lambda session: session_calls.commit(session.session_id, scope=session.scope, **given)


INVALID: dict[str, tuple[str, Make]] = {
    "s1 d1 no query": ("query", recall("")),
    "d1 blank query": ("query", recall("  \u3000\u200b\u001f ")),
    "p45 query too long": ("query", recall("x" * 4097)),
    "a1 no scope": ("scope", recall(scope=common_pb2.Scope())),
    "a1 empty scope": ("scope", recall(scope="")),
    "a1 blank scope": ("scope", recall(scope="  ")),
    "p53 scope without kind": ("scope", recall(scope="alice")),
    "scope without id": ("scope", recall(scope="user: ")),
    "scope with control character": ("scope", recall(scope="user:a\x07b")),
    "scope too long": ("scope", recall(scope="u:" + "x" * 255)),
    "tenant without organisation": ("scope", recall(scope=tenant(""))),
    "path scope without session": ("session_id", recall(session_id="")),
    "d13 top_k -1": ("top_k", recall(top_k=-1)),
    "d13 top_k 0": ("top_k", recall(top_k=0)),
    "d13 top_k 51": ("top_k", recall(top_k=51)),
    "min_score NaN": ("min_score", recall(min_score=float("nan"))),
    "min_score infinite": ("min_score", recall(min_score=float("inf"))),
    "min_score above 1": ("min_score", recall(min_score=1.01)),
    "d27 f14 unknown mode": ("mode", recall(mode=99)),
    "f14 unknown evidence mode": ("evidence", recall(evidence=99)),
    "unknown kind": ("kinds", recall(kinds=[99])),
    "s30 task context with null": ("task_context", recall(task_context={"a": None})),
    "s30 task context with odd key": ("task_context", recall(task_context={"1x": 1})),
    "s30 task context too large": ("task_context", recall(task_context={"a": "x" * 17_000})),
    "request id too long": ("request_id", recall(request_id="x" * 65)),
    "request id not ASCII": ("request_id", recall(request_id="é")),
    "axis too long": ("axes", recall(axes={"user_id": "x" * 257})),
    "no task": ("task", activate(task=" ")),
    "no goal": ("initial_goal", activate(initial_goal="")),
    "activate in a tenant scope": ("scope", activate(scope=tenant("acme"))),
    "s36 unknown continuity id": ("continuity_id", activate(continuity_id="nobody-knows-it")),
    "no memories": ("memories", remember()),
    "too many memories": ("memories", remember(*[memory("fact", "x")] * 101)),
    "s29 one memory without type": ("memories[1].type", remember(memory("fact", "x"), memory(0, "y"))),
    "one blank memory": ("memories[1].content", remember(memory("fact", "x"), memory("fact", "\u200b"))),
    "one memory too long": ("memories[0].content", remember(memory("fact", "x" * 16_001))),
    "blank turn": ("turns[0].content", lambda s: memory_calls.record_turns([turn(" ")], scope=s.scope)),
    "commit without goal": ("final_goal", commit(final_goal="")),
    "commit without outcome": ("outcome", commit(outcome=0)),
    "s22 procedure with a blank step": (
        "procedure.steps[0].summary",
        commit(
            procedure=session_pb2.ProcedureInput(
                summary="how", steps=[recall_pb2.ProcedureStep(summary=" ")], caveats=["beware"]
            )
        ),
    ),
    "s40 too many trajectory entries": (
        "trajectory",
        commit(
            trajectory=[session_pb2.TrajectoryEntry(kind=session_pb2.TRAJECTORY_KIND_ACTION, summary="did it")] * 33
        ),
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_a_wrong_field_is_named(session: Session, name: str) -> None:
    field, make = INVALID[name]
    with pytest.raises(InvalidArgument) as refused:
        session.client.send(make(session))
    error = refused.value
    assert error.reason == "FIELD_INVALID"
    assert error.violations
    named = error.violations[0].field
    assert named == field or named.startswith((f"{field}.", f"{field}["))
    assert error.violations[0].description
    assert_clean(error)
    # S1: nothing happened to the session.
    ledger = session.ledger()
    assert ledger.state == session_pb2.SESSION_STATE_OPEN
    assert ledger.retrieval_count == 1


UNKNOWN: dict[str, tuple[str, Make]] = {
    "s2 recall": ("SESSION_NOT_FOUND", recall(session_id="no-such-session")),
    "get": ("SESSION_NOT_FOUND", lambda s: session_calls.get_session("no-such-session", scope=s.scope)),
    "commit": (
        "SESSION_NOT_FOUND",
        lambda s: session_calls.commit("nope", scope=s.scope, final_goal="g", outcome="success", outcome_summary="o"),
    ),
    "feedback": ("RETRIEVAL_NOT_FOUND", lambda _: session_calls.feedback("no-such-retrieval", coverage="complete")),
    "remember": ("SESSION_NOT_FOUND", remember(memory("fact", "x"), session_id="no-such-session")),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_does_not_exist_is_not_found(session: Session, name: str) -> None:
    reason, make = UNKNOWN[name]
    with pytest.raises(NotFound) as refused:
        session.client.send(make(session))
    assert refused.value.reason == reason
    assert_clean(refused.value)


def test_s2_an_ended_session_takes_no_more_recalls(session: Session) -> None:
    session.cover(session.opening.retrieval_id)
    session.commit()
    with pytest.raises(ClientError) as refused:
        session.recall("q")
    assert refused.value.reason == "SESSION_ENDED"
    assert_clean(refused.value)


def test_what_ended_a_session_is_said(session: Session) -> None:
    session.client.abandon_session(session.session_id, scope=session.scope)
    for call in (lambda: session.recall("q"), session.commit):
        with pytest.raises(ClientError, match="SESSION_ENDED: the session was abandoned; open another one"):
            call()


def test_a_recall_without_a_session_says_how_to_get_one(session: Session) -> None:
    with pytest.raises(InvalidArgument, match="open a session with Activate, or recall with the tenant form"):
        session.client.recall("q", scope=session.scope)


def test_a_procedure_among_memories_is_sent_to_its_own_list(session: Session) -> None:
    entry = memory_feedback("proc_1", "used")
    with pytest.raises(FeedbackRejectedError, match=r"memory_feedback\[0\].memory_id: list it in procedure_feedback"):
        session.client.feedback(session.opening.retrieval_id, memory_feedback=[entry], coverage="complete")


def test_f15_a_status_has_exactly_one_error_info(service: LocalService, session: Session) -> None:
    bad = [make(session) for _, make in (*INVALID.values(), *UNKNOWN.values())]
    with grpc.insecure_channel(service.address) as channel:
        for call in bad:
            status = status_of(channel, call.path, call.request.SerializeToString())
            infos = [d for d in status.details if d.Is(error_details_pb2.ErrorInfo.DESCRIPTOR)]
            assert len(infos) == 1
            assert sum(detail.ByteSize() for detail in status.details) < 4096


def test_d3_bytes_that_are_no_utf8_get_a_clean_status(service: LocalService, session: Session) -> None:
    with grpc.insecure_channel(service.address) as channel:
        raw = b"\x0a\x02\xff\xfe"  # field 1, two bytes that are not UTF-8
        status = status_of(channel, "/remembrancer.v1.RecallService/Recall", raw)
        assert status.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
        assert "Traceback" not in status.message
        # The connection survives.
        request = recall_calls.recall("q", scope=session.scope, session_id=session.session_id).request
        path = "/remembrancer.v1.RecallService/Recall"
        assert channel.unary_unary(path, None, None)(request.SerializeToString(), timeout=5)


def status_of(channel: grpc.Channel, path: str, request: bytes) -> status_pb2.Status:
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(path, None, None)(request, timeout=5)
    error: Any = caught.value
    raw = dict(error.trailing_metadata()).get("grpc-status-details-bin")
    assert raw is not None, (path, error.code(), error.details())
    return status_pb2.Status.FromString(raw)


def assert_clean(error: ClientError) -> None:
    text = " ".join([error.message, *error.metadata.values(), *(v.description for v in error.violations)])
    for leak in ("Traceback", 'File "', ".py", "127.0.0.1", "rm:{", "redis"):
        assert leak not in text
