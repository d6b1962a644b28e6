"""request_id: the same call again gets the first answer and does nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from google.protobuf.message import Message

from remembrancer.cli.local.plan import Role
from remembrancer.client import (
    Client,
    InvalidArgument,
    memory,
    memory_calls,
    memory_feedback,
    recall_calls,
    session_calls,
    turn,
)
from remembrancer.client.call import Call
from remembrancer.internal.v1 import store_pb2
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.v1 import session_pb2
from tests.service import Outage, hits

FERRY = "The ferry to Skerry leaves at seven."


@dataclass(frozen=True)
class Stage:
    """A scope with two sessions: one with something to assess, one that is covered."""

    client: Client
    scope: str
    session_id: str
    retrieval_id: str
    memory_id: str
    covered_id: str
    idle_id: str

    @classmethod
    def set(cls, client: Client, scope: str) -> Stage:
        client.remember([memory("fact", FERRY)], scope=scope)
        session, covered, idle = (client.activate("wash up", "clean cups", scope=scope) for _ in range(3))
        client.feedback(covered.retrieval_id, coverage="complete")
        answer = client.recall("ferry", scope=scope, session_id=session.session_id)
        (hit,) = hits(answer)
        return cls(
            client,
            scope,
            session.session_id,
            answer.retrieval_id,
            hit.memory_id,
            covered.session_id,
            idle.session_id,
        )


Make = Callable[[Stage, str], Call[Any]]

CALLS: dict[str, Make] = {
    "Activate": lambda s, i: session_calls.activate("ferry", "Skerry", scope=s.scope, request_id=i),
    "Feedback": lambda s, i: session_calls.feedback(
        s.retrieval_id, memory_feedback=[memory_feedback(s.memory_id, "used")], coverage="complete", request_id=i
    ),
    "Commit": lambda s, i: session_calls.commit(
        s.covered_id,
        scope=s.scope,
        final_goal="g",
        outcome="success",
        outcome_summary="s",
        procedure=session_pb2.ProcedureInput(summary="p", steps=[{"summary": "one"}]),  # type: ignore[list-item]
        request_id=i,
    ),
    "AbandonSession": lambda s, i: session_calls.abandon_session(s.idle_id, scope=s.scope, request_id=i),
    "Recall": lambda s, i: recall_calls.recall(
        "ferry", scope=s.scope, session_id=s.session_id, mode="deep", request_id=i
    ),
    "Remember": lambda s, i: memory_calls.remember(
        [memory("fact", "Bo rows."), memory("fact", "Al too.")], scope=s.scope, request_id=i
    ),
    # Without message id or time nothing else tells these turns from others.
    "RecordTurns": lambda s, i: memory_calls.record_turns([turn("Aye."), turn("Nay.")], scope=s.scope, request_id=i),
}
OTHER: dict[str, Make] = {
    "Activate": lambda s, i: session_calls.activate("ferry", "home", scope=s.scope, request_id=i),
    "Feedback": lambda s, i: session_calls.feedback(s.retrieval_id, coverage="complete", request_id=i),
    "Commit": lambda s, i: session_calls.commit(
        s.covered_id, scope=s.scope, final_goal="h", outcome="success", outcome_summary="s", request_id=i
    ),
    "AbandonSession": lambda s, i: session_calls.abandon_session(s.session_id, scope=s.scope, request_id=i),
    "Recall": lambda s, i: recall_calls.recall("ferry", scope=s.scope, session_id=s.session_id, request_id=i),
    "Remember": lambda s, i: memory_calls.remember([memory("fact", "Bo rows.")], scope=s.scope, request_id=i),
    "RecordTurns": lambda s, i: memory_calls.record_turns([turn("Aye.")], scope=s.scope, request_id=i),
}


def effects(stage: Stage, stored: Any) -> dict[str, Any]:
    """Return everything in the store that a call might do twice."""
    keys = PartitionKeys(partition_of(stage.scope))
    ledger = stage.client.get_session(stage.session_id, scope=stage.scope)
    records = stored.hgetall(keys.records)
    return {
        "sessions": [(s.session_id, s.state) for s in stage.client.list_sessions(scope=stage.scope).sessions],
        "retrievals": [r.retrieval_id for r in ledger.retrievals],
        "records": sorted((int(n), store_pb2.Record.FromString(raw).kind) for n, raw in records.items()),
        "learned": store_pb2.Learned.FromString(stored.hget(keys.learned, stage.memory_id[4:]) or b""),
        "feed": stored.xlen(keys.feed),
        "last n": stored.hget(keys.meta, "n"),
    }


@pytest.fixture
def stage(client: Client, scope: str) -> Stage:
    return Stage.set(client, scope)


@pytest.mark.essential
@pytest.mark.parametrize("rpc", CALLS)
def test_the_same_call_again_gets_the_first_answer(stage: Stage, stored: Any, rpc: str) -> None:
    call = CALLS[rpc](stage, "id-1")
    before = effects(stage, stored)
    first = stage.client.send(call)
    done = effects(stage, stored)
    assert done != before
    assert stage.client.send(call) == first
    assert effects(stage, stored) == done


@pytest.mark.parametrize("rpc", CALLS)
def test_b7_the_same_id_with_another_body_is_refused(stage: Stage, stored: Any, rpc: str) -> None:
    stage.client.send(CALLS[rpc](stage, "id-1"))
    done = effects(stage, stored)
    with pytest.raises(InvalidArgument) as refused:
        stage.client.send(OTHER[rpc](stage, "id-1"))
    assert refused.value.reason == "REQUEST_ID_REUSED"
    assert refused.value.violations[0].field == "request_id"
    assert effects(stage, stored) == done
    # With an id of its own it goes through, or is refused for what it is.
    stage.client.send(OTHER[rpc](stage, "id-2"))


@pytest.mark.essential
@pytest.mark.parametrize("rpc", CALLS)
def test_both_at_once_do_it_once(stage: Stage, stored: Any, rpc: str) -> None:
    once = Stage.set(stage.client, f"{stage.scope}-once")
    once.client.send(CALLS[rpc](once, "id-1"))
    call = CALLS[rpc](stage, "id-1")
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(stage.client.send, [call] * 6))
    assert all(answer == answers[0] for answer in answers)
    assert shape(effects(stage, stored)) == shape(effects(once, stored))


def shape(found: dict[str, Any]) -> dict[str, Any]:
    """Return effects without the ids that differ from scope to scope."""
    learned = store_pb2.Learned()
    learned.CopyFrom(found["learned"])
    return {
        **found,
        "sessions": [state for _, state in found["sessions"]],
        "retrievals": len(found["retrievals"]),
        "learned": learned.helped,
    }


def test_all_of_it_survives_a_killed_gateway(client: Client, stage: Stage, stored: Any, killed: Outage) -> None:
    """And so do sessions and conversations (field case S36)."""
    made = {rpc: make(stage, f"{rpc}-1") for rpc, make in CALLS.items()}
    first: dict[str, Message] = {rpc: client.send(call) for rpc, call in made.items()}
    done = effects(stage, stored)
    with killed(Role.GATEWAY):
        pass
    client.wait_connected()
    for rpc, call in made.items():
        assert client.send(call) == first[rpc], rpc
    assert {**effects(stage, stored), "retrievals": done["retrievals"]} == done
    opened = first["Activate"]
    assert isinstance(opened, session_pb2.ActivateResponse)
    again = client.activate("ferry", "Skerry", scope=stage.scope, continuity_id=opened.continuity_id)
    assert again.continuity_state == session_pb2.CONTINUITY_STATE_CONTINUED


def test_a_repeated_recall_leaves_out_what_was_erased_since(stage: Stage, stored: Any) -> None:
    call = CALLS["Recall"](stage, "id-1")
    first = stage.client.send(call)
    assert hits(first)
    stored.hdel(PartitionKeys(partition_of(stage.scope)).records, stage.memory_id[4:])
    again = stage.client.send(call)
    assert again.retrieval_id == first.retrieval_id
    assert hits(again) == []


def test_ids_are_apart_by_call_and_scope(client: Client, stage: Stage) -> None:
    other = Stage.set(client, f"{stage.scope}-other")
    answers = [client.send(make(where, "same-id")) for make in CALLS.values() for where in (stage, other)]
    assert len(answers) == 2 * len(CALLS)


def test_bodies_are_compared_decoded(client: Client, stage: Stage) -> None:
    """The same fields, sent in another order and with a default spelt out, are the same body."""
    call = CALLS["Recall"](stage, "id-1")
    raw = call.request.SerializeToString()
    shuffled = call.request.__class__()
    shuffled.MergeFromString(raw)
    shuffled.ClearField("query")
    # proto3 decoders take fields in any order: here the query comes last.
    wire = shuffled.SerializeToString() + call.request.__class__(query="ferry").SerializeToString()
    assert wire != raw
    invoke = client._channel.unary_unary(call.path, None, None)
    answers = [call.response.FromString(invoke(body, timeout=5)) for body in (raw, wire)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("rpc", CALLS)
def test_ids_are_short_and_printable(stage: Stage, rpc: str) -> None:
    for odd in ("x" * 65, "ü", "a\nb", "\x00"):
        with pytest.raises(InvalidArgument) as refused:
            stage.client.send(CALLS[rpc](stage, odd))
        assert refused.value.violations[0].field == "request_id"
