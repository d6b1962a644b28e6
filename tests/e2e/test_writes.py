"""What makes two writes one."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from remembrancer.client import Client, InvalidArgument, memory, tenant, turn
from remembrancer.v1 import common_pb2, memory_pb2
from tests.service import Session, Store, contents, hits

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


@pytest.mark.parametrize("axis", ["agent_id", "user_id", "project_id", "channel", "conversation_id"])
def test_t1_a_message_id_means_one_turn_within_a_conversation(client: Client, scope: str, axis: str) -> None:
    for text in ("ana", "bob"):
        said = [turn(f"{text} says {n}.", msg_id=str(n)) for n in (1, 2, 3)]
        for disposition in (CREATED, MATCHED):
            written = client.record_turns(said, scope=scope, axes={axis: text})
            assert [result.disposition for result in written.results] == [disposition] * 3
    assert client.get_scope(scope=scope).last_number == 6


def test_t1_users_of_a_tenant_number_their_turns_as_they_like(client: Client, scope: str) -> None:
    org = str(uuid.uuid4())
    for user in ("ana", "bob"):
        client.record_turns([turn(f"This is {user}.", msg_id="1")], scope=tenant(org, user_id=user))
    for user in ("ana", "bob"):
        assert contents(client.recall("Who is this?", scope=tenant(org, user_id=user))) == [f"This is {user}."]


def test_t1_a_message_id_with_another_text_is_refused_and_nothing_is_written(client: Client, scope: str) -> None:
    said = [turn("Nine.", msg_id="a"), turn("Ten.", msg_id="b"), turn("Eleven.", msg_id="c")]
    client.record_turns(said, scope=scope)
    with pytest.raises(InvalidArgument) as refused:
        client.record_turns(
            [turn("New.", msg_id="d"), turn("9.", msg_id="a"), turn("  TEN. ", msg_id="b"), turn("11.", msg_id="c")],
            scope=scope,
        )
    assert refused.value.reason == "MSG_ID_REUSED"
    assert [v.field for v in refused.value.violations] == ["turns[1].msg_id", "turns[3].msg_id"]
    assert "evt_1" in refused.value.violations[0].description
    assert client.get_scope(scope=scope).last_number == 3
    # An edited message goes through UpdateMemory; then the new text is the one that is known.
    client.update_memory("evt_1", scope=scope, content="9.")
    again = client.record_turns([turn("9.", msg_id="a")], scope=scope).results[0]
    assert (again.disposition, again.memory_id) == (MATCHED, "evt_1")


def test_t1_two_texts_under_one_message_id_in_one_call_are_refused(client: Client, scope: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        client.record_turns([turn("One.", msg_id="a"), turn("Two.", msg_id="b"), turn("Uno.", msg_id="a")], scope=scope)
    assert refused.value.reason == "MSG_ID_REUSED"
    assert [v.field for v in refused.value.violations] == ["turns[0].msg_id", "turns[2].msg_id"]
    assert client.get_scope(scope=scope).last_number == 0
    twice = client.record_turns([turn("One.", msg_id="a"), turn("one. ", msg_id="a")], scope=scope)
    assert [result.memory_id for result in twice.results] == ["evt_1", "evt_1"]


def test_t1_at_once_one_text_wins_and_the_other_is_refused(client: Client, scope: str) -> None:
    def say(text: str) -> str:
        try:
            return client.record_turns([turn(text, msg_id="1")], scope=scope).results[0].memory_id
        except InvalidArgument as error:
            return error.reason

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(say, ["Yes.", "No."] * 4))
    assert sorted(said) == ["MSG_ID_REUSED"] * 4 + ["evt_1"] * 4
    assert client.get_scope(scope=scope).last_number == 1


@pytest.mark.parametrize("time", ["02/03/2024", "06/05/2024", "yesterday", ""])
def test_t22_a_time_that_cannot_be_read_is_told(client: Client, scope: str, time: str) -> None:
    said = [turn("Clear.", timestamp="2024-03-02", msg_id="1"), turn("When?", timestamp=time, msg_id="2")]
    for disposition in (CREATED, MATCHED):
        written = client.record_turns(said, scope=scope)
        assert [result.time_uncertain for result in written.results] == [False, True]
        assert [result.disposition for result in written.results] == [disposition] * 2
        (warning,) = written.warnings
        assert warning.code == common_pb2.WARNING_CODE_TIME_UNCERTAIN
        assert "turns[1]" in warning.message
    kept = client.get_contents(["evt_2"], scope=scope).contents[0]
    assert kept.time_uncertain
    assert kept.occurred_at == kept.recorded_at


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A gigabyte is 10⁹ bytes", "A gigabyte is 109 bytes"),
        ("Take ⑤ eggs", "Take 5 eggs"),
        ("H₂O boils", "H2O boils"),
    ],
)
def test_t29_compatibility_forms_are_texts_of_their_own(client: Client, scope: str, one: str, other: str) -> None:
    results = client.remember([memory("fact", text) for text in (one, other)], scope=scope).results
    results.extend(client.remember([memory("fact", f" {one.upper()} ")], scope=scope).results)
    assert [result.memory_id for result in results] == ["sch_1", "sch_2", "sch_1"]
    for asked in (one, other):
        found = client.recall(asked, scope=scope, session_id=opened(client, scope), top_k=2)
        assert sorted(contents(found)) == sorted([one, other])
    said = [turn(one, msg_id="1")]
    client.record_turns(said, scope=scope)
    with pytest.raises(InvalidArgument):
        client.record_turns([turn(other, msg_id="1")], scope=scope)


def opened(client: Client, scope: str) -> str:
    return client.activate("a test", "to see it pass", scope=scope).session_id


def test_t15_what_is_stored_already_costs_the_store_no_more_than_what_is_new(
    client: Client, scope: str, stored: Store
) -> None:
    def commands(text: str) -> int:
        before = int(stored.info("stats")["total_commands_processed"])
        client.remember([memory("fact", text)], scope=scope)
        return int(stored.info("stats")["total_commands_processed"]) - before

    client.remember([memory("fact", "The first.")], scope=scope)
    new = min(commands(f"New {n}.") for n in range(5))
    known = min(commands("The first.") for _ in range(5))
    assert known <= new
