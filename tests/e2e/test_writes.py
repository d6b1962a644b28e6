"""What makes two writes one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from remembrancer.client import Client, memory, turn
from remembrancer.v1 import memory_pb2
from tests.service import Session, hits

CREATED, MATCHED = memory_pb2.WRITE_DISPOSITION_CREATED, memory_pb2.WRITE_DISPOSITION_MATCHED


def test_p40_what_a_reader_would_see_is_not_stored_again(client: Client, scope: str) -> None:
    text = "The archive opens at nine."
    for project, disposition in (("", CREATED), ("A", MATCHED)):
        written = client.remember([memory("fact", text)], scope=scope, axes={"project_id": project})
        assert written.results[0].disposition == disposition
    for project in ("A", "B"):
        spoken = client.record_turns([turn("Nine.", msg_id="m")], scope=scope, axes={"project_id": project})
        assert spoken.results[0].disposition == CREATED
    # The other way round a reader of the global pool would not have seen it.
    for project in ("A", ""):
        written = client.remember([memory("fact", "It closes at five.")], scope=scope, axes={"project_id": project})
        assert written.results[0].disposition == CREATED


def test_p41_the_same_statement_at_once_is_one_memory(client: Client, scope: str, session: Session) -> None:
    with ThreadPoolExecutor(8) as pool:
        calls = [
            pool.submit(client.remember, [memory("fact", "The siren tests at noon.")], scope=scope) for _ in range(8)
        ]
    results = [call.result().results[0] for call in calls]
    assert {result.memory_id for result in results} == {"sch_1"}
    assert sorted(result.disposition for result in results) == [CREATED] + [MATCHED] * 7
    (found,) = hits(session.recall("The siren tests at noon."))
    assert found.relevance > 0.95


def test_turns_without_an_id_are_known_by_who_said_what_when(client: Client, scope: str) -> None:
    said = [turn("Hello.", name="Ida", role="user", timestamp="2024-03-10T10:00:00Z")]
    first = client.record_turns(said, scope=scope, axes={"conversation_id": "c"}).results[0]
    again = client.record_turns(said, scope=scope, axes={"conversation_id": "c"}).results[0]
    assert (first.disposition, again.disposition) == (CREATED, MATCHED)
    assert again.memory_id == first.memory_id
    for other in ({"conversation_id": "d"}, {"conversation_id": "c", "agent_id": "scribe"}):
        assert client.record_turns(said, scope=scope, axes=other).results[0].disposition == CREATED
    undated = [turn("Hello.", name="Ida", role="user", timestamp="yesterday")]
    for _ in range(2):
        assert client.record_turns(undated, scope=scope).results[0].disposition == CREATED
