"""Whose a session is, what is checked first, and how large it may get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import json_format

from remembrancer.client import Client, ClientError, memory
from remembrancer.internal.v1 import store_pb2
from tests.integration.sessions.conftest import keys_of
from tests.service import OpenSession, Session

DONE = {"final_goal": "g", "outcome": "success", "outcome_summary": "s"}


def refusal(call: Callable[[], object]) -> ClientError:
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value


@pytest.fixture
def foreign(session: Session, stored: Any) -> Session:
    """A session that another caller opened, with its retrieval."""
    keys, ref = keys_of(session.session_id)
    info = store_pb2.SessionInfo.FromString(stored.hget(keys.session(ref.ledger), "info"))
    info.caller = "somebody else"
    stored.hset(keys.session(ref.ledger), "info", info.SerializeToString())
    for name, raw in stored.hgetall(keys.ledger(ref.ledger)).items():
        retrieval = store_pb2.Retrieval.FromString(raw)
        retrieval.caller = "somebody else"
        stored.hset(keys.ledger(ref.ledger), name, retrieval.SerializeToString())
    return session


def calls_on(session: Session, scope: str) -> dict[str, Callable[[], object]]:
    """Return every call that names a session, in a scope."""
    client, name = session.client, session.session_id
    return {
        "recall": lambda: client.recall("q", scope=scope, session_id=name),
        "get": lambda: client.get_session(name, scope=scope),
        "commit": lambda: client.commit(name, scope=scope, **DONE),  # type: ignore[arg-type]
        "abandon": lambda: client.abandon_session(name, scope=scope),
        "remember": lambda: client.remember([memory("fact", "x")], scope=scope, session_id=name),
    }


def test_another_caller_s_session_is_not_found(foreign: Session, stored: Any) -> None:
    keys, ref = keys_of(foreign.session_id)
    before = stored.hgetall(keys.session(ref.ledger))
    for scope in (foreign.scope, f"{foreign.scope}-other"):
        for call in calls_on(foreign, scope).values():
            error = refusal(call)
            assert error.reason == "SESSION_NOT_FOUND"
            assert "somebody" not in error.message
    assert refusal(lambda: foreign.cover(foreign.opening.retrieval_id)).reason == "RETRIEVAL_NOT_FOUND"
    assert foreign.client.list_sessions(scope=foreign.scope).sessions == []
    assert stored.hgetall(keys.session(ref.ledger)) == before
    assert not stored.hexists(keys.ledger(ref.ledger), f"f:{foreign.opening.retrieval_id.rpartition('_')[2]}")


def test_b1_a_session_of_another_scope_is_a_mismatch_in_every_call(session: Session) -> None:
    for call in calls_on(session, f"{session.scope}-other").values():
        assert refusal(call).reason == "SESSION_SCOPE_MISMATCH"
    assert session.recall("it stays usable").retrieval_id


def test_fields_are_checked_before_sessions_and_scopes_before_states(
    client: Client, session: Session, scope: str
) -> None:
    unknown = session.session_id[:-1] + ("a" if session.session_id[-1] != "a" else "b")
    assert refusal(lambda: client.recall(" ", scope=scope, session_id=unknown)).reason == "FIELD_INVALID"
    assert refusal(lambda: client.recall("q", scope="nowhere", session_id=unknown)).reason == "FIELD_INVALID"
    assert refusal(lambda: client.recall("q", scope=scope)).violations[0].field == "session_id"
    assert refusal(lambda: client.commit(unknown, scope=scope, **{**DONE, "outcome": 0})).reason == "FIELD_INVALID"  # type: ignore[arg-type]
    client.abandon_session(session.session_id, scope=scope)
    for name, call in calls_on(session, f"{scope}-other").items():
        assert refusal(call).reason == "SESSION_SCOPE_MISMATCH", name


def test_a_full_session_takes_feedback_and_commit_but_no_retrieval(session: Session, stored: Any) -> None:
    keys, ref = keys_of(session.session_id)
    stored.hset(keys.session(ref.ledger), "count", 10_000)
    error = refusal(lambda: session.recall("one more"))
    assert error.reason == "SESSION_FULL"
    stored.hset(keys.session(ref.ledger), "count", 9_999)
    last = session.recall("the last one")
    assert refusal(lambda: session.recall("one more")).reason == "SESSION_FULL"
    session.cover(session.opening.retrieval_id)
    session.cover(last.retrieval_id)
    assert session.commit().episode_id


def test_the_context_of_a_session_grows_with_its_recalls(client: Client, scope: str) -> None:
    """Field case S30, over the wire."""
    opened = client.activate("t", "g", scope=scope, task_context={"A": 1, "deep": {"x": 1, "y": [1, "two"]}})
    session = Session(client, scope, opened.session_id, opened)
    session.recall("q", task_context={"b": 2, "deep": {"z": True}})
    assert json_format.MessageToDict(session.ledger().task_context) == {"a": 1, "b": 2, "deep": {"z": True}}
    session.recall("q")
    for bad, field in (
        ({"a": None}, "task_context.a"),
        ({"1x": 1}, "task_context.1x"),
        ({"c": "x" * 17_000}, "task_context"),
        ({"c": "x" * 16_350}, "task_context"),  # fits alone, and not with what is there
    ):
        error = refusal(lambda bad=bad: session.recall("q", task_context=bad))  # type: ignore[misc]
        assert error.violations[0].field == field
        assert dict(session.ledger().task_context).keys() == {"a", "b", "deep"}
    assert session.ledger().retrieval_count == 3


def test_s37_sessions_of_one_scope_do_not_touch_each_other(open_session: OpenSession) -> None:
    one, other = open_session(), open_session()
    one.recall("q", task_context={"only": "here"})
    assert len(other.ledger().task_context) == 0
    assert (one.ledger().retrieval_count, other.ledger().retrieval_count) == (2, 1)
