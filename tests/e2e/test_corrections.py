"""UpdateMemory and RestoreMemory."""

from __future__ import annotations

import time
from typing import Any

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.client import Client, InvalidArgument, NotFound, memory, memory_feedback, tenant, turn
from tests.service import OpenSession, Outage, Session, contents, hits

OLD = "The spare key hangs behind the boiler."
NEW = "The lighthouse is painted in red and white stripes."


def test_c19_the_new_text_is_found_and_the_old_one_is_not(client: Client, scope: str, session: Session) -> None:
    client.remember([memory("fact", OLD)], scope=scope)
    assert contents(session.recall("where is the spare key?", "deep")) == [OLD]
    answer = client.update_memory("sch_1", scope=scope, content=NEW)
    assert answer.changed
    assert answer.embedded
    for mode in ("active", "deep"):
        found = hits(session.recall("which colours has the lighthouse?", mode, min_score=0.3))
        assert [hit.content for hit in found] == [NEW]
        assert found[0].memory_id == "sch_1"
        assert contents(session.recall("where is the spare key?", mode, min_score=0.3)) == []
        assert contents(session.recall(OLD, mode, min_score=0.3)) == []


def test_equal_texts_and_entities_follow_the_change(client: Client, scope: str, session: Session) -> None:
    client.remember([memory("fact", "Ottoline Marsh keeps the bees.")], scope=scope)
    client.update_memory("sch_1", scope=scope, content="Bertram Quill keeps the bees.")
    again = client.remember([memory("fact", "bertram quill  keeps the BEES.")], scope=scope).results[0]
    assert again.memory_id == "sch_1"
    new = client.remember([memory("fact", "Ottoline Marsh keeps the bees.")], scope=scope).results[0]
    assert new.memory_id == "sch_2"
    client.forget("sch_2", scope=scope)
    labels = {e.label for e in session.recall("Who is Bertram Quill, and who Ottoline Marsh?", "deep").hits.entities}
    assert "Bertram Quill" in labels
    assert "Ottoline Marsh" not in labels


@pytest.mark.parametrize("how", ["update", "suppress", "forget"])
def test_a_repeated_recall_shows_no_entity_of_a_text_that_is_gone(
    client: Client, scope: str, session: Session, how: str
) -> None:
    client.remember([memory("fact", "Project Nightjar is led by Zanthia Quorvik in Reykjavik.")], scope=scope)
    asked: dict[str, Any] = {"query": "Who leads project Nightjar?", "mode": "deep", "request_id": "again"}
    first = session.recall(**asked)
    assert "Zanthia Quorvik" in {entity.label for entity in first.hits.entities}
    assert session.recall(**asked) == first
    if how == "update":
        client.update_memory("sch_1", scope=scope, content="Project Nightjar has nobody.")
    else:
        client.forget("sch_1", scope=scope, suppress=how == "suppress")
    again = session.recall(**asked)
    assert again.retrieval_id == first.retrieval_id
    assert {entity.label for entity in again.hits.entities} <= {"Nightjar", "Project Nightjar"}


def test_type_and_time_change_without_the_text(client: Client, scope: str) -> None:
    client.record_turns([turn("I was there.", timestamp="yesterday")], scope=scope)
    client.remember([memory("fact", "Somebody was there.")], scope=scope)
    assert client.update_memory(
        "evt_1", scope=scope, occurred_at=client.list_memories(scope=scope).memories[0].recorded_at
    )
    assert client.update_memory("sch_2", scope=scope, type="lesson").changed
    assert not client.update_memory("sch_2", scope=scope, type="lesson").changed
    statement, spoken = client.list_memories(scope=scope).memories
    assert not spoken.time_uncertain
    assert statement.type == 6
    with pytest.raises(InvalidArgument):
        client.update_memory("evt_1", scope=scope, type="lesson")


def test_with_the_encoder_down_the_new_text_is_found_by_words_and_later_by_meaning(
    client: Client, scope: str, session: Session, killed: Outage
) -> None:
    client.remember([memory("fact", OLD)], scope=scope)
    with killed(Role.ENCODER):
        assert not client.update_memory("sch_1", scope=scope, content=NEW).embedded
        assert contents(session.recall("lighthouse stripes")) == [NEW]
        assert contents(session.recall("spare key boiler", min_score=0.1)) == []
    meaning = "a tower that guides ships"
    deadline = time.monotonic() + 10
    while contents(session.recall(meaning)) != [NEW]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_what_is_not_there_or_not_visible_is_not_found(client: Client, scope: str) -> None:
    org = scope.partition(":")[2]
    client.remember([memory("fact", OLD)], scope=tenant(org, user_id="ada"))
    for where, memory_id in ((tenant(org, user_id="bo"), "sch_1"), (tenant(org), "sch_2"), (tenant(org), "nonsense")):
        for call in (client.forget, client.restore_memory):
            with pytest.raises(NotFound) as refused:
                call(memory_id, scope=where)
            assert refused.value.reason == "MEMORY_NOT_FOUND"
        with pytest.raises(NotFound):
            client.update_memory(memory_id, scope=where, content=NEW)


def test_a_retry_changes_nothing_twice(client: Client, scope: str) -> None:
    client.remember([memory("fact", OLD)], scope=scope)
    first = client.update_memory("sch_1", scope=scope, content=NEW, request_id="u-1")
    client.update_memory("sch_1", scope=scope, content=OLD)
    assert client.update_memory("sch_1", scope=scope, content=NEW, request_id="u-1") == first
    assert client.get_contents(["sch_1"], scope=scope).contents[0].content == OLD


def test_suppressed_and_stale_memories_come_back(client: Client, scope: str, open_session: OpenSession) -> None:
    client.remember([memory("fact", OLD), memory("fact", "The spare tyre is under the boot.")], scope=scope)
    session = open_session()
    answer = session.recall("where is the spare?")
    client.feedback(
        answer.retrieval_id,
        memory_feedback=[memory_feedback("sch_2", "stale", stale_reason="outdated", reason="sold the car")],
    )
    assert client.forget("sch_1", scope=scope, suppress=True).forgotten == 1
    for mode in ("active", "deep"):
        assert contents(session.recall("where is the spare?", mode)) == []
        assert "sch_1" not in [h.memory_id for h in hits(session.recall("spare", mode, include_superseded=True))]
    assert list(client.get_contents(["sch_1"], scope=scope).missing) == ["sch_1"]
    assert [m.memory_id for m in client.list_memories(scope=scope, include_suppressed=True).memories] == ["sch_1"]
    assert client.get_scope(scope=scope).suppressed == 1

    assert client.restore_memory("sch_1", scope=scope).restored
    assert client.restore_memory("sch_2", scope=scope).restored
    assert not client.restore_memory("sch_2", scope=scope).restored
    for mode in ("active", "deep"):
        assert len(contents(session.recall("where is the spare?", mode))) == 2
