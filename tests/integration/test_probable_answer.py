"""The probable answer of real recalls."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory, recall_calls, turn
from remembrancer.v1 import recall_pb2
from tests.gateway import Extra
from tests.service import OpenSession, Outage, Session, hits

NO_MEMORY_ANSWERS = recall_pb2.PROBABLE_ANSWER_REASON_NO_MEMORY_ANSWERS
UNAVAILABLE = recall_pb2.PROBABLE_ANSWER_REASON_UNAVAILABLE
NOT_ENABLED = recall_pb2.PROBABLE_ANSWER_REASON_NOT_ENABLED

OLD_CITY, NEW_CITY = "I live in Lisbon, near the river.", "I live in Porto now, in a flat by the park."
FACTS = {
    OLD_CITY: "2021-04-01",
    NEW_CITY: "2024-02-01",
    "The staging database runs Postgres 13.": "2023-04-01",
    "The staging database runs Postgres 16.": "2025-02-01",
    "The spare key hangs behind the kitchen clock.": "2023-01-05",
    "My sister breeds rabbits in a barn.": "2022-01-01",
}


@pytest.fixture(params=["observations", "turns"])
def home(client: Client, scope: str, open_session: OpenSession, request: pytest.FixtureRequest) -> Session:
    """A scope that holds FACTS in one of the two kinds."""
    if request.param == "turns":
        client.record_turns([turn(text, role="user", timestamp=day) for text, day in FACTS.items()], scope=scope)
    else:
        days = {text: datetime.fromisoformat(day).replace(tzinfo=UTC) for text, day in FACTS.items()}
        client.remember([memory("fact", text, occurred_at=day) for text, day in days.items()], scope=scope)
    return open_session()


def whole(answer: recall_pb2.RecallResponse) -> recall_pb2.ProbableAnswer:
    """Return the probable answer after looking at all that always holds of it."""
    assert answer.HasField("probable_answer") != bool(answer.probable_answer_reason)
    found = answer.probable_answer
    direct = {hit.memory_id: hit for hit in hits(answer) if hit.pathway == recall_pb2.PATHWAY_DIRECT}
    assert (found.text, found.timestamp) == (direct[found.id].content, direct[found.id].occurred_at)
    ids = [found.id, *(other.id for other in found.alternatives)]
    probabilities = [found.probability, *(other.probability for other in found.alternatives)]
    assert set(ids) <= direct.keys()
    assert len(ids) == len(set(ids)) <= 3
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0 < probabilities[-1] <= sum(probabilities) <= 1
    return found


def rest(answer: recall_pb2.RecallResponse) -> recall_pb2.RecallResponse:
    """Return what may not depend on whether a probable answer was asked for."""
    copy = recall_pb2.RecallResponse.FromString(answer.SerializeToString())
    for field in ("retrieval_id", "as_of", "probable_answer", "probable_answer_reason"):
        copy.ClearField(field)
    return copy


@pytest.mark.parametrize("mode", ["active", "deep"])
def test_p47_asking_changes_nothing_else(home: Session, mode: str) -> None:
    question, more = "Where is the spare key?", {"include_timeline": True, "as_of": datetime(2025, 6, 1, tzinfo=UTC)}
    default, asked, not_asked = (
        home.recall(question, mode, **more, **wanted)
        for wanted in ({}, {"probable_answer": True}, {"probable_answer": False})
    )
    assert rest(default) == rest(asked) == rest(not_asked)
    assert whole(default) == whole(asked)
    assert whole(asked).text == "The spare key hangs behind the kitchen clock."
    assert not not_asked.HasField("probable_answer")
    assert not_asked.probable_answer_reason == NOT_ENABLED


@pytest.mark.parametrize(
    ("query", "text", "time"),
    [
        ("Where do I live?", NEW_CITY, recall_pb2.QUESTION_TIME_CURRENT),
        ("Which city am I living in now?", NEW_CITY, recall_pb2.QUESTION_TIME_CURRENT),
        ("Where did I live before?", OLD_CITY, recall_pb2.QUESTION_TIME_PAST),
        ("Have I ever lived in Lisbon?", OLD_CITY, recall_pb2.QUESTION_TIME_EVER),
        (
            "Which Postgres version does staging run?",
            "The staging database runs Postgres 16.",
            recall_pb2.QUESTION_TIME_CURRENT,
        ),
        (
            "Which Postgres version did staging run before?",
            "The staging database runs Postgres 13.",
            recall_pb2.QUESTION_TIME_PAST,
        ),
        (
            "Which Postgres did the staging database run in April 2023?",
            "The staging database runs Postgres 13.",
            recall_pb2.QUESTION_TIME_DATE,
        ),
    ],
)
def test_p52_what_holds_now_what_held_before_and_whether_ever(home: Session, query: str, text: str, time: int) -> None:
    found = whole(home.recall(query))
    assert (found.text, found.question_time) == (text, time)


@pytest.mark.parametrize("query", ["Who won the ice hockey final in 1998?", "How do I bake sourdough bread?"])
def test_an_off_topic_question_has_no_answer_here(home: Session, query: str) -> None:
    answer = home.recall(query)
    assert hits(answer)
    assert not answer.HasField("probable_answer")
    assert answer.probable_answer_reason == NO_MEMORY_ANSWERS


def test_p49_a_repeated_request_gets_the_same_probable_answer(home: Session, client: Client) -> None:
    call = {"scope": home.scope, "session_id": home.session_id, "request_id": "again"}
    first = client.recall("Where do I live?", **call)  # type: ignore[arg-type]
    client.remember([memory("fact", "I live in Faro now, in a flat by the sea.")], scope=home.scope)
    assert client.recall("Where do I live?", **call) == first  # type: ignore[arg-type]
    assert whole(first).text == NEW_CITY
    assert "Faro" in whole(home.recall("Where do I live?")).text


def test_no_answer_at_all_is_told_from_no_answer_because_of_an_error(
    session: Session, client: Client, scope: str, killed: Outage
) -> None:
    assert session.recall("Where is the oil?").probable_answer_reason == NO_MEMORY_ANSWERS
    client.remember([memory("fact", "The oil is in the shed.")], scope=scope)
    with killed(Role.ENCODER):
        by_words = session.recall("Where is the oil?")
        assert by_words.HasField("active_tier_error")
        assert whole(by_words).text == "The oil is in the shed."
        nothing = session.recall("Something else entirely")
        assert not hits(nothing)
        assert nothing.probable_answer_reason == UNAVAILABLE


def test_p47_a_server_may_have_it_switched_off(
    service: LocalService, session: Session, client: Client, scope: str
) -> None:
    client.remember([memory("fact", NEW_CITY)], scope=scope)
    with (
        Extra(service, Role.GATEWAY, {"probable_answer": "false"}) as gateway,
        Client.connect(gateway.address) as other,
    ):
        answer = other.send(
            recall_calls.recall("Where do I live?", scope=scope, session_id=session.session_id, probable_answer=True)
        )
    assert hits(answer)
    assert not answer.HasField("probable_answer")
    assert answer.probable_answer_reason == NOT_ENABLED
