"""A gateway killed between its search and its ledger write, and callers that go away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import (
    Client,
    ClientError,
    DeadlineExceeded,
    FeedbackIncompleteError,
    Unavailable,
    memory,
    tenant,
)
from remembrancer.v1 import recall_pb2, session_pb2
from tests.gateway import Gateway
from tests.service import OpenSession, Session, hits, wait_whole
from tests.valkey import until

TEXT = "The kiln is in the yard."


@pytest.fixture
def doomed(service: LocalService, client: Client) -> Iterator[Gateway]:
    """A gateway to be killed. Store and worker run again after it."""
    with Gateway(service) as gateway:
        yield gateway
        for role in (Role.STORE, Role.ACTIVE):
            service.supervisor.resume(role)
        wait_whole(client)


@pytest.fixture
def session(client: Client, scope: str, open_session: OpenSession) -> Session:
    client.remember([memory("fact", TEXT)], scope=scope)
    opened = open_session()
    opened.cover(opened.opening.retrieval_id)
    # The worker holds the partition now: its next search needs nothing of the store.
    assert hits(opened.recall("where is the kiln?"))
    opened.cover(opened.ledger().retrievals[-1].retrieval_id)
    return opened


def killed_after_the_search(
    service: LocalService, doomed: Gateway, session: Session, **more: Any
) -> Future[recall_pb2.RecallResponse]:
    """Stop the store while a worker searches for a recall, let the worker answer, then kill the gateway."""
    supervisor = service.supervisor
    with ThreadPoolExecutor(1) as pool, doomed.client() as client:
        # Afterwards it has loaded all it needs for an answer.
        client.recall("where is the kiln?", scope=tenant("nobody"))
        supervisor.suspend(Role.ACTIVE)
        doomed_session = Session(client, session.scope, session.session_id, session.opening)
        calling = pool.submit(doomed_session.recall, "where is the kiln?", timeout=30, **more)
        time.sleep(0.5)  # validated, encoded, and waiting for the worker
        assert not calling.done()
        supervisor.suspend(Role.STORE)
        supervisor.resume(Role.ACTIVE)
        time.sleep(0.5)  # the worker has answered, and the gateway waits for the store
        assert not calling.done()
        doomed.kill()
        assert isinstance(calling.exception(timeout=5), ClientError)
    supervisor.resume(Role.STORE)
    return calling


def test_killed_before_the_write_was_sent_nothing_is_in_the_ledger(
    service: LocalService, doomed: Gateway, session: Session
) -> None:
    """The answer had hits, whose records were still to be read: the caller got no answer, the ledger no retrieval."""
    killed_after_the_search(service, doomed, session)
    ledger = session.ledger()
    assert (ledger.retrieval_count, ledger.uncovered_count) == (2, 0)
    assert session.commit().state == session_pb2.SESSION_STATE_COMMITTED


def test_killed_after_the_write_was_sent_the_retrieval_must_be_covered(
    service: LocalService, doomed: Gateway, client: Client, session: Session
) -> None:
    """Without hits the next thing is the write itself: it reached the store, and the caller finds it with GetSession.

    Nothing was shown to anybody, and nothing is hidden from the gate.
    """
    killed_after_the_search(service, doomed, session, kinds=["episode"], request_id="lost")
    until(lambda: session.ledger().retrieval_count == 3, 5, "that the store took the write in")
    ledger = session.ledger()
    lost = ledger.retrievals[-1]
    assert (ledger.uncovered_count, lost.covered, list(lost.exposed)) == (1, False, [])
    with pytest.raises(FeedbackIncompleteError) as refused:
        session.commit()
    assert [r.retrieval_id for r in refused.value.feedback_incomplete.retrievals] == [lost.retrieval_id]
    # The same request again, through another gateway, gets the answer that was lost.
    again = session.recall("where is the kiln?", kinds=["episode"], request_id="lost")
    assert again.retrieval_id == lost.retrieval_id
    assert session.ledger().retrieval_count == 3
    assert session.cover(lost.retrieval_id).coverage == session_pb2.COVERAGE_COMPLETE
    assert session.commit().state == session_pb2.SESSION_STATE_COMMITTED


def test_a_caller_that_runs_out_of_time_loses_nothing_and_can_cover_what_it_missed(
    service: LocalService, session: Session
) -> None:
    """Deadlines of a few milliseconds end calls anywhere between validation and answer."""
    answered: set[str] = set()
    late = 0
    for milliseconds in range(1, 41):
        try:
            answered.add(session.recall("kiln", timeout=milliseconds / 1000).retrieval_id)
        except (DeadlineExceeded, Unavailable):
            late += 1
    assert late > 0
    ledger = session.ledger()
    found = {retrieval.retrieval_id for retrieval in ledger.retrievals[2:]}
    assert answered <= found
    assert len(found) <= len(answered) + late
    for name in found:
        assert session.cover(name).coverage == session_pb2.COVERAGE_COMPLETE
    assert session.commit().state == session_pb2.SESSION_STATE_COMMITTED


def test_a_failed_recall_leaves_the_context_and_the_ledger_alone(
    service: LocalService, session: Session, client: Client
) -> None:
    session.recall("kiln", task_context={"kiln": "two"})
    before = session.ledger()
    service.supervisor.suspend(Role.ACTIVE)
    try:
        with pytest.raises(ClientError):
            session.recall("kiln", task_context={"kiln": "three", "day": "monday"}, timeout=0.4)
    finally:
        service.supervisor.resume(Role.ACTIVE)
        wait_whole(client)
    assert session.ledger() == before
