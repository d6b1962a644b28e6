"""Where a session stands: open, committed, abandoned, expired."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from remembrancer.client import Client, ClientError, memory, turn
from remembrancer.v1 import common_pb2, session_pb2
from tests.integration.sessions.conftest import IDLE_SECONDS, Age
from tests.service import OpenSession, Session

OPEN = session_pb2.SESSION_STATE_OPEN
COMMITTED = session_pb2.SESSION_STATE_COMMITTED
ABANDONED = session_pb2.SESSION_STATE_ABANDONED
EXPIRED = session_pb2.SESSION_STATE_EXPIRED

HOUR = 3600


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value.reason


def abandon(session: Session) -> session_pb2.AbandonSessionResponse:
    return session.client.abandon_session(session.session_id, scope=session.scope)


def remember(session: Session) -> None:
    session.client.remember([memory("fact", "It rains.")], scope=session.scope, session_id=session.session_id)


def record(session: Session) -> None:
    session.client.record_turns([turn("It rains.")], scope=session.scope, session_id=session.session_id)


@pytest.mark.essential
def test_s2_an_ended_session_takes_nothing_more(open_session: OpenSession) -> None:
    committed, abandoned = open_session(), open_session()
    committed.cover(committed.opening.retrieval_id)
    committed.commit()
    abandon(abandoned)
    for session in (committed, abandoned):
        assert refusal(lambda s=session: s.recall("q")) == "SESSION_ENDED"  # type: ignore[misc]
        assert refusal(lambda s=session: remember(s)) == "SESSION_ENDED"  # type: ignore[misc]
        assert refusal(lambda s=session: record(s)) == "SESSION_ENDED"  # type: ignore[misc]
        assert refusal(lambda s=session: abandon(s)) == "SESSION_ENDED"  # type: ignore[misc]
    assert refusal(abandoned.commit) == "SESSION_ENDED"
    assert committed.ledger().state == COMMITTED
    assert abandoned.ledger().state == ABANDONED


def test_abandoning_needs_no_feedback_and_takes_it_later(client: Client, session: Session) -> None:
    remember(session)
    answer = session.recall("does it rain?")
    assert abandon(session) == session_pb2.AbandonSessionResponse(session_id=session.session_id, state=ABANDONED)
    ledger = session.ledger()
    assert (ledger.state, ledger.uncovered_count, ledger.episode_id) == (ABANDONED, 2, "")
    assert not ledger.HasField("expires_at")
    entry = session_pb2.MemoryFeedback(
        memory_id=answer.hits.observations[0].memory_id, assessment=session_pb2.MEMORY_ASSESSMENT_USED
    )
    result = client.feedback(answer.retrieval_id, memory_feedback=[entry], coverage="complete").results[0]
    assert result.applied.strengthened == 1
    ledger = session.ledger()
    assert (ledger.state, ledger.uncovered_count) == (ABANDONED, 1)


def test_s25_b4_an_idle_session_expires_while_others_go_on(
    session: Session, open_session: OpenSession, age: Age
) -> None:
    other = open_session()
    age(session.session_id, HOUR - 5)
    assert session.ledger().state == OPEN  # looking at it is no activity
    age(session.session_id, 10)
    other.recall("traffic")
    assert session.ledger().state == EXPIRED
    assert refusal(lambda: session.recall("q")) == "SESSION_EXPIRED"
    assert refusal(lambda: remember(session)) == "SESSION_EXPIRED"
    assert refusal(lambda: abandon(session)) == "SESSION_EXPIRED"
    assert other.ledger().state == OPEN


def test_b4_time_alone_ends_an_idle_session(hasty: Client, scope: str) -> None:
    """On a gateway whose sessions expire after a second, with nobody sweeping and other sessions busy."""
    idle, busy = (hasty.activate("t", "g", scope=scope) for _ in range(2))
    end = time.monotonic() + IDLE_SECONDS + 0.4
    while time.monotonic() < end:
        hasty.recall("traffic", scope=scope, session_id=busy.session_id)
        time.sleep(0.1)
    assert refusal(lambda: hasty.recall("q", scope=scope, session_id=idle.session_id)) == "SESSION_EXPIRED"
    assert hasty.get_session(idle.session_id, scope=scope).state == EXPIRED
    assert hasty.get_session(busy.session_id, scope=scope).state == OPEN


ACTIVITIES: dict[str, Callable[[Session], object]] = {
    "recall": lambda s: s.recall("q"),
    "remember": remember,
    "record_turns": record,
    "s42 feedback": lambda s: s.cover(s.opening.retrieval_id),
    "s42 partial feedback": lambda s: s.client.feedback(s.opening.retrieval_id),
}


@pytest.mark.parametrize("name", ACTIVITIES)
def test_s42_what_counts_as_activity(session: Session, age: Age, name: str) -> None:
    age(session.session_id, HOUR - 60)
    before = session.ledger()
    ACTIVITIES[name](session)
    after = session.ledger()
    assert after.active_at.seconds - before.active_at.seconds >= HOUR - 61
    assert after.expires_at.seconds - after.active_at.seconds == HOUR


def test_what_fails_is_no_activity(session: Session, age: Age) -> None:
    age(session.session_id, HOUR - 60)
    before = session.ledger().active_at
    refusal(lambda: session.recall(" "))
    refusal(session.commit)
    refusal(lambda: session.client.feedback("ret_unknown"))
    assert session.ledger().active_at == before


def test_feedback_on_an_expired_session_covers_and_revives_nothing(session: Session, age: Age) -> None:
    age(session.session_id, HOUR + 1)
    before = session.ledger().active_at
    assert session.cover(session.opening.retrieval_id).coverage == session_pb2.COVERAGE_COMPLETE
    ledger = session.ledger()
    assert (ledger.state, ledger.uncovered_count) == (EXPIRED, 0)
    assert ledger.active_at == before


@pytest.mark.essential
def test_s25_a_late_commit_attaches_the_outcome_and_forms_nothing_while_uncovered(session: Session, age: Age) -> None:
    remember(session)
    age(session.session_id, HOUR + 1)
    late = session.commit()
    assert (late.state, late.outcome) == (EXPIRED, common_pb2.OUTCOME_SUCCESS)
    assert late.feedback_status == session_pb2.FEEDBACK_STATUS_INCOMPLETE
    assert late.operation == session_pb2.COMMIT_OPERATION_CREATED
    assert (late.episode_id, late.procedure_id) == ("", "")
    ledger = session.ledger()
    assert (ledger.state, ledger.outcome, ledger.outcome_summary) == (EXPIRED, late.outcome, "it worked")
    # Once covered, a later commit makes up for it; the session stays expired.
    session.cover(session.opening.retrieval_id)
    later = session.commit()
    assert (later.state, later.feedback_status) == (EXPIRED, session_pb2.FEEDBACK_STATUS_COMPLETE)
    assert later.operation == session_pb2.COMMIT_OPERATION_UPDATED
    assert later.episode_id.startswith("ep_")
    assert session.commit().episode_id == later.episode_id
    assert refusal(lambda: session.recall("q")) == "SESSION_EXPIRED"


def test_a_covered_session_that_expired_still_forms_its_episode(session: Session, age: Age) -> None:
    session.cover(session.opening.retrieval_id)
    age(session.session_id, HOUR + 1)
    late = session.commit()
    assert (late.state, late.feedback_status) == (EXPIRED, session_pb2.FEEDBACK_STATUS_COMPLETE)
    assert late.episode_id


def test_get_session_shows_everything(client: Client, scope: str) -> None:
    opened = client.activate("fire the kiln", "bowls", scope=scope, task_context={"kiln": "two"})
    client.remember([memory("fact", "Kiln two is hot.")], scope=scope, session_id=opened.session_id)
    answer = client.recall("hot kiln", scope=scope, session_id=opened.session_id)
    client.feedback(opened.retrieval_id, coverage="complete")
    shown = client.get_session(opened.session_id, scope=scope)
    assert (shown.task, shown.initial_goal, dict(shown.task_context)) == ("fire the kiln", "bowls", {"kiln": "two"})
    assert (shown.state, shown.continuity_id) == (OPEN, opened.continuity_id)
    assert shown.opened_at.seconds <= shown.active_at.seconds < shown.expires_at.seconds
    assert (shown.retrieval_count, shown.uncovered_count, shown.next_page_token) == (2, 1, "")
    first, second = shown.retrievals
    assert (first.retrieval_id, first.covered, list(first.exposed)) == (opened.retrieval_id, True, [])
    assert first.origin == session_pb2.RETRIEVAL_ORIGIN_ACTIVATE
    assert not first.HasField("uncovered")
    assert (second.retrieval_id, second.covered) == (answer.retrieval_id, False)
    assert second.origin == session_pb2.RETRIEVAL_ORIGIN_RECALL
    assert list(second.exposed) == [answer.hits.observations[0].memory_id] == list(second.uncovered.outstanding)
    assert second.uncovered.outstanding_count == 1
