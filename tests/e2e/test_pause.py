"""Pausing persistence."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from google.protobuf.duration_pb2 import Duration

from remembrancer.client import Client, InvalidArgument, memory, memory_calls, turn
from tests.service import OpenSession, contents
from tests.valkey import until


def test_p43_paused_writes_store_nothing(client: Client, scope: str, open_session: OpenSession) -> None:
    client.remember([memory("fact", "Written before the pause.")], scope=scope)
    client.pause_persistence(scope=scope, session_key="k")
    said = client.remember([memory("fact", "Off the record.")], scope=scope, session_key="k", request_id="p-1")
    spoken = client.record_turns([turn("Off the record, too."), turn("Really.")], scope=scope, session_key="k")
    for answer, items in ((said, 1), (spoken, 2)):
        assert not answer.persisted
        assert [r.memory_id for r in answer.results] == [""] * items
    assert client.get_scope(scope=scope).last_number == 1
    assert contents(open_session().recall("what is off the record?")) == ["Written before the pause."]
    assert client.remember([memory("fact", "Another key.")], scope=scope, session_key="other").persisted
    assert client.remember([memory("fact", "No key.")], scope=scope).persisted

    assert client.resume_persistence(scope=scope, session_key="k").was_paused
    assert not client.resume_persistence(scope=scope, session_key="k").was_paused
    assert client.remember(
        [memory("fact", "Off the record.")], scope=scope, session_key="k", request_id="p-1"
    ).persisted


def test_a_commit_in_a_pause_closes_and_forms_nothing(client: Client, scope: str, open_session: OpenSession) -> None:
    session = open_session()
    client.pause_persistence(scope=scope, session_key="k")
    session.cover(session.opening.retrieval_id)
    done = client.commit(
        session.session_id,
        scope=scope,
        final_goal="done",
        outcome="success",
        outcome_summary="quietly",
        session_key="k",
    )
    assert done.state == 2
    assert done.episode_id == done.procedure_id == ""
    assert client.get_scope(scope=scope).last_number == 0


def test_t25_recall_counters_stand_still_in_a_pause(client: Client, scope: str, open_session: OpenSession) -> None:
    client.remember([memory("fact", "The sluice is open.")], scope=scope)
    session = open_session()
    client.pause_persistence(scope=scope, session_key="k")
    for _ in range(3):
        assert contents(session.recall("sluice", session_key="k")) == ["The sluice is open."]
    assert contents(session.recall("sluice", session_key="other")) == ["The sluice is open."]

    def count() -> int:
        (shown,) = client.list_memories(scope=scope).memories
        return shown.recall_count

    until(lambda: count() > 0, 5, "that the recall outside the pause is counted")
    assert count() == 1
    client.resume_persistence(scope=scope, session_key="k")
    session.recall("sluice", session_key="k")
    until(lambda: count() > 1, 5, "that recalls are counted again")
    assert count() == 2


def test_a_pause_ends_by_itself(client: Client, scope: str) -> None:
    until = client.pause_persistence(scope=scope, duration=timedelta(seconds=1)).paused_until
    assert not client.remember([memory("fact", "Too early.")], scope=scope).persisted
    time.sleep(max(0.0, until.ToMilliseconds() / 1000 - time.time()) + 0.1)
    assert client.remember([memory("fact", "Late enough.")], scope=scope).persisted


@pytest.mark.parametrize("seconds", [0, 0.999, -5, 24 * 3600 + 1])
def test_a_pause_lasts_a_second_to_a_day(client: Client, scope: str, seconds: float) -> None:
    with pytest.raises(InvalidArgument) as refused:
        client.pause_persistence(scope=scope, duration=timedelta(seconds=seconds))
    assert [v.field for v in refused.value.violations] == ["duration"]


@pytest.mark.parametrize(
    ("seconds", "nanos", "field"),
    [
        (86_400, 1, "duration"),
        (0, 999_999_999, "duration"),
        (5, 2_147_483_647, "duration.nanos"),
        (5, 1_000_000_000, "duration.nanos"),
        (5, -1, "duration.nanos"),
    ],
)
def test_t24_a_pause_is_held_to_the_nanosecond(
    client: Client, scope: str, seconds: int, nanos: int, field: str
) -> None:
    call = memory_calls.pause_persistence(scope=scope)
    call.request.duration.CopyFrom(Duration(seconds=seconds, nanos=nanos))
    with pytest.raises(InvalidArgument) as refused:
        client.send(call)
    assert [v.field for v in refused.value.violations] == [field]
    assert client.remember([memory("fact", "Nothing is paused.")], scope=scope).persisted
