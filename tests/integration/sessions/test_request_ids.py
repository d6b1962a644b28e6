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
    NotFound,
    memory,
    memory_calls,
    memory_feedback,
    recall_calls,
    selection,
    session_calls,
    turn,
)
from remembrancer.client.call import Call
from remembrancer.internal.v1 import store_pb2
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.v1 import session_pb2
from tests.contract.catalogue import RPCS
from tests.service import Outage, hits

FERRY = "The ferry to Skerry leaves at seven."
CLERK = {"agent_id": "clerk"}
BOBS = {**CLERK, "user_id": "bob"}


@dataclass(frozen=True)
class Stage:
    """A scope with sessions, one with something to assess and one that is covered, and memories to correct."""

    client: Client
    scope: str
    session_id: str
    retrieval_id: str
    memory_id: str
    covered_id: str
    idle_id: str
    hidden_id: str
    note_id: str

    @classmethod
    def set(cls, client: Client, scope: str) -> Stage:
        client.remember([memory("fact", FERRY)], scope=scope)
        # These belong to another agent: recalls that name none do not see them.
        notes = [
            memory("fact", "Hidden."),
            memory("fact", "A note."),
            memory("fact", "Bob's.", axes={"user_id": "bob"}),
        ]
        written = client.remember(notes, scope=scope, axes=CLERK).results
        hidden_id, note_id = written[0].memory_id, written[1].memory_id
        client.forget(hidden_id, scope=scope, axes=CLERK, suppress=True)
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
            hidden_id,
            note_id,
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
    "RecallWithContext": lambda s, i: recall_calls.recall_with_context(
        "ferry", scope=s.scope, session_id=s.session_id, agent_id="default-agent", request_id=i
    ),
    "UpdateMemory": lambda s, i: memory_calls.update_memory(
        s.note_id, scope=s.scope, content="A better note.", axes=CLERK, request_id=i
    ),
    "RestoreMemory": lambda s, i: memory_calls.restore_memory(s.hidden_id, scope=s.scope, axes=CLERK, request_id=i),
    "Forget": lambda s, i: memory_calls.forget(s.note_id, scope=s.scope, axes=CLERK, request_id=i),
    "Forget a user": lambda s, i: memory_calls.forget(scope=s.scope, selection=selection(axes=BOBS), request_id=i),
    "Forget all": lambda s, i: memory_calls.forget(scope=s.scope, whole_scope=True, request_id=i),
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
    "RecallWithContext": lambda s, i: recall_calls.recall_with_context(
        "ferry", scope=s.scope, session_id=s.session_id, agent_id="default-agent", limit=3, request_id=i
    ),
    "UpdateMemory": lambda s, i: memory_calls.update_memory(
        s.note_id, scope=s.scope, content="The best note.", axes=CLERK, request_id=i
    ),
    "RestoreMemory": lambda s, i: memory_calls.restore_memory(s.note_id, scope=s.scope, axes=CLERK, request_id=i),
    "Forget": lambda s, i: memory_calls.forget(s.hidden_id, scope=s.scope, axes=CLERK, request_id=i),
    "Forget a user": lambda s, i: memory_calls.forget(scope=s.scope, selection=selection(axes=CLERK), request_id=i),
    "Forget all": lambda s, i: memory_calls.forget(scope=s.scope, selection=selection(axes=BOBS), request_id=i),
}


def effects(stage: Stage, stored: Any) -> dict[str, Any]:
    """Return everything in the store that a call might do twice."""
    keys = PartitionKeys(partition_of(stage.scope))
    records = stored.hgetall(keys.records)
    return {
        "sessions": [(s.session_id, s.state) for s in stage.client.list_sessions(scope=stage.scope).sessions],
        "retrievals": retrievals_of(stage),
        "records": sorted((int(n), *seen_of(store_pb2.Record.FromString(raw))) for n, raw in records.items()),
        "learned": store_pb2.Learned.FromString(stored.hget(keys.learned, stage.memory_id[4:]) or b""),
        "feed": stored.xlen(keys.feed),
        "last n": stored.hget(keys.meta, "n"),
    }


def retrievals_of(stage: Stage) -> list[str]:
    """Return the ids in the session's ledger, which goes with the whole scope."""
    try:
        ledger = stage.client.get_session(stage.session_id, scope=stage.scope)
    except NotFound:
        return []
    return [retrieval.retrieval_id for retrieval in ledger.retrievals]


def seen_of(record: store_pb2.Record) -> tuple[int, str, int]:
    """Return what calls change of a record."""
    return record.kind, record.content, record.status


@pytest.fixture
def stage(client: Client, scope: str) -> Stage:
    return Stage.set(client, scope)


def test_every_call_that_takes_a_request_id_is_here(stage: Stage) -> None:
    taking = {rpc.path for rpc in RPCS if "request_id" in rpc.request.DESCRIPTOR.fields_by_name}
    for calls in (CALLS, OTHER):
        assert {make(stage, "id").path for make in calls.values()} == taking


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
    # What is forgotten takes remembered answers along: this is done in scopes of its own.
    made = {
        rpc: make(Stage.set(client, f"{stage.scope}-{i}") if rpc.startswith("Forget") else stage, f"id-{i}")
        for i, (rpc, make) in enumerate(CALLS.items())
    }
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
    # One call each: forgetting one memory and forgetting all are the same call with other bodies.
    makes = {make(stage, "").path: make for make in CALLS.values()}.values()
    answers = [client.send(make(where, "same-id")) for make in makes for where in (stage, other)]
    assert len(answers) == 2 * len(makes)


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


def test_ids_are_short_and_printable(stage: Stage, stored: Any) -> None:
    before = effects(stage, stored)
    for make in CALLS.values():
        for odd in ("x" * 65, "ü", "a\nb", "\x00"):
            with pytest.raises(InvalidArgument) as refused:
                stage.client.send(make(stage, odd))
            assert refused.value.violations[0].field == "request_id"
    assert effects(stage, stored) == before
