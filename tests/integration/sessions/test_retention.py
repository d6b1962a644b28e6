"""How long things stay in the store, key by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remembrancer.client import Client, ClientError, NotFound, memory, tenant
from remembrancer.model.ids import parse_retrieval
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.v1 import session_pb2
from tests.integration.sessions.conftest import DAY_MS, keys_of
from tests.service import OpenSession, Session

HOUR_MS = 3_600_000
KEPT_MS = 7 * DAY_MS
SLACK_MS = 60_000


def ledger_keys(session_id: str) -> dict[str, str]:
    keys, ref = keys_of(session_id)
    return {
        "session": keys.session(ref.ledger),
        "ledger": keys.ledger(ref.ledger),
        "uncovered": keys.uncovered(ref.ledger),
        "retrievals": keys.retrievals(ref.ledger),
        "written": keys.written(ref.ledger),
        "used": keys.used_procedures(ref.ledger),
    }


def lives(stored: Any, session_id: str) -> dict[str, int]:
    """Return how long each key of a session that exists is going to stay, in milliseconds; -1 = for ever."""
    return {name: life for name, key in ledger_keys(session_id).items() if (life := stored.pttl(key)) != -2}


@pytest.mark.essential
def test_an_open_session_is_kept_for_its_idle_time_and_its_retention(session: Session, stored: Any) -> None:
    session.client.remember([memory("fact", "It rains.")], scope=session.scope, session_id=session.session_id)
    session.recall("rain")
    found = lives(stored, session.session_id)
    assert found.keys() == {"session", "ledger", "uncovered", "retrievals", "written"}
    for life in found.values():
        assert HOUR_MS + KEPT_MS - SLACK_MS < life <= HOUR_MS + KEPT_MS
    # All go at the same moment: no half of a session is ever seen.
    assert max(found.values()) - min(found.values()) < 100


@pytest.mark.parametrize("end", ["commit", "abandon"])
def test_an_ended_session_is_kept_for_seven_days_from_its_end(session: Session, stored: Any, end: str) -> None:
    session.client.remember([memory("fact", "It rains.")], scope=session.scope, session_id=session.session_id)
    if end == "commit":
        session.cover(session.opening.retrieval_id)
        session.commit()
    else:
        session.client.abandon_session(session.session_id, scope=session.scope)
    found = lives(stored, session.session_id)
    assert found
    for life in found.values():
        assert KEPT_MS - SLACK_MS < life <= KEPT_MS
    # Feedback after the end does not prolong it.
    session.cover(session.opening.retrieval_id)
    assert all(life <= KEPT_MS for life in lives(stored, session.session_id).values())


def test_past_its_retention_nothing_is_left_of_a_session(
    client: Client, scope: str, open_session: OpenSession, stored: Any
) -> None:
    client.remember([memory("fact", "It rains.")], scope=scope)
    session = open_session()
    retrieval = session.recall("rain").retrieval_id
    for key in ledger_keys(session.session_id).values():
        stored.pexpire(key, 1)
    with pytest.raises(NotFound) as refused:
        session.ledger()
    assert refused.value.reason == "SESSION_NOT_FOUND"
    with pytest.raises(NotFound) as refused:
        session.cover(retrieval)
    assert refused.value.reason == "RETRIEVAL_NOT_FOUND"
    with pytest.raises(NotFound) as refused:
        session.commit()
    assert refused.value.reason == "SESSION_NOT_FOUND"


@pytest.mark.essential
def test_a_stateless_retrieval_is_kept_for_an_hour(client: Client, scope: str, stored: Any) -> None:
    org = tenant(scope.partition(":")[2])
    client.remember([memory("fact", "It rains.")], scope=org)
    answer = client.recall("rain", scope=org)
    ref = parse_retrieval(answer.retrieval_id)
    assert ref is not None
    key = PartitionKeys(ref.partition).ledger(ref.ledger)
    assert HOUR_MS - SLACK_MS < stored.pttl(key) <= HOUR_MS
    result = client.feedback(answer.retrieval_id, remaining="not_used", coverage="complete").results[0]
    assert result.accepted == 1
    assert stored.pttl(key) <= HOUR_MS
    stored.pexpire(key, 1)
    with pytest.raises(NotFound) as refused:
        client.feedback(answer.retrieval_id, coverage="complete")
    assert refused.value.reason == "RETRIEVAL_NOT_FOUND"


def test_remembered_requests_go_after_a_day_and_those_of_recalls_after_ten_minutes(
    client: Client, scope: str, session: Session, stored: Any
) -> None:
    keys = PartitionKeys(partition_of(scope))
    client.remember([memory("fact", "It rains.")], scope=scope, request_id="w")
    client.feedback(session.opening.retrieval_id, coverage="complete", request_id="f")
    session.recall("rain", request_id="r")
    for rpc, request, most in (("Remember", "w", DAY_MS), ("Feedback", "f", DAY_MS), ("Recall", "r", 600_000)):
        assert most - SLACK_MS < stored.pttl(keys.replay("local", rpc, request)) <= most


def test_a_continuity_id_is_kept_for_ninety_days_from_its_last_use(
    client: Client, session: Session, stored: Any
) -> None:
    keys, _ = keys_of(session.session_id)
    key = keys.continuity(session.opening.continuity_id)
    stored.pexpire(key, DAY_MS)
    client.activate("t", "g", scope=session.scope, continuity_id=session.opening.continuity_id)
    assert stored.pttl(key) > 89 * DAY_MS


@pytest.mark.essential
def test_b2_calls_on_what_does_not_exist_leave_nothing_behind(client: Client, scope: str, stored: Any) -> None:
    partition, token = partition_of(scope), "abcdefghijklmnop"
    session, retrieval = f"ses_{partition}_{token}", f"ret_{partition}_{token}_{token}"
    other = f"ret_{partition}_{token}_ponmlkjihgfedcba"
    calls: list[Callable[[], object]] = [
        lambda: client.recall("q", scope=scope, session_id=session, request_id="1"),
        lambda: client.get_session(session, scope=scope),
        lambda: client.commit(
            session, scope=scope, final_goal="g", outcome="success", outcome_summary="s", request_id="2"
        ),
        lambda: client.abandon_session(session, scope=scope, request_id="3"),
        lambda: client.remember([memory("fact", "x")], scope=scope, session_id=session, request_id="4"),
        lambda: client.feedback(retrieval, coverage="complete", request_id="5"),
    ]
    for call in calls:
        with pytest.raises(ClientError) as refused:
            call()
        assert refused.value.reason in ("SESSION_NOT_FOUND", "RETRIEVAL_NOT_FOUND")
    items = [session_pb2.FeedbackItem(retrieval_id=name) for name in (retrieval, other)]
    results = client.feedback(items=items, request_id="6").results
    assert [result.error.code for result in results] == [5, 5]
    assert list(stored.scan_iter(match=f"*{partition}*", count=10_000)) == []
