"""The five real processes, started once for all end-to-end tests."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, Unavailable, tenant
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    with LocalService(tmp_path_factory.mktemp("remembrancer")) as running:
        yield running


@pytest.fixture(scope="session")
def client(service: LocalService) -> Iterator[Client]:
    """A client that fails at once, where the shipped defaults would try again."""
    with Client.connect(service.address, attempts=1) as connected:
        yield connected


@pytest.fixture
def scope() -> str:
    """A scope that no other test writes to."""
    return f"test:{uuid.uuid4()}"


@dataclass(frozen=True)
class Session:
    """An open session, with the calls that most tests make."""

    client: Client
    scope: str
    session_id: str
    opening: session_pb2.ActivateResponse

    def recall(self, query: str, mode: str = "active", **more: object) -> recall_pb2.RecallResponse:
        return self.client.recall(query, scope=self.scope, session_id=self.session_id, mode=mode, **more)  # type: ignore[arg-type]

    def cover(self, retrieval_id: str) -> session_pb2.FeedbackResult:
        return self.client.feedback(retrieval_id, remaining="not_used", coverage="complete").results[0]

    def commit(self) -> session_pb2.CommitResponse:
        return self.client.commit(
            self.session_id, scope=self.scope, final_goal="done", outcome="success", outcome_summary="it worked"
        )

    def ledger(self) -> session_pb2.GetSessionResponse:
        return self.client.get_session(self.session_id, scope=self.scope)


OpenSession = Callable[..., Session]


@pytest.fixture
def open_session(client: Client, scope: str) -> OpenSession:
    """Return a function that opens a session, in the test's scope unless told otherwise."""

    def open_one(in_scope: str = scope, **more: object) -> Session:
        opening = client.activate("a test", "to see it pass", scope=in_scope, **more)  # type: ignore[arg-type]
        return Session(client, in_scope, opening.session_id, opening)

    return open_one


@pytest.fixture
def session(open_session: OpenSession) -> Session:
    return open_session()


def wait_whole(client: Client, timeout: float = 5.0) -> None:
    """Wait until the gateway has found every restarted process again: it looks a few times a second."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            client.recall("whole?", scope=tenant("nobody"), mode="deep", require_tiers=["active", "deep"])
        except Unavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


Outage = Callable[..., contextlib.AbstractContextManager[None]]


@pytest.fixture
def killed(service: LocalService, client: Client) -> Outage:
    """Return a context manager in which processes are down (kill -9); they are ready again after it."""

    @contextlib.contextmanager
    def outage(*roles: Role) -> Iterator[None]:
        for role in roles:
            service.supervisor.kill(role)
        try:
            yield
        finally:
            for role in roles:
                service.supervisor.start_role(role)
            for role in roles:
                service.supervisor.wait_ready(role, 30)
            wait_whole(client)

    return outage


@pytest.fixture
def frozen(service: LocalService, client: Client) -> Outage:
    """Return a context manager in which processes keep their connections and do not answer (SIGSTOP)."""

    @contextlib.contextmanager
    def outage(*roles: Role) -> Iterator[None]:
        for role in roles:
            service.supervisor.suspend(role)
        try:
            yield
        finally:
            for role in roles:
                service.supervisor.resume(role)
            for role in roles:
                service.supervisor.wait_ready(role, 30)
            wait_whole(client)

    return outage


def contents(answer: recall_pb2.RecallResponse) -> list[str]:
    """Return the texts of all hits, best first."""
    return [hit.content for hit in hits(answer)]


def hits(answer: recall_pb2.RecallResponse | session_pb2.ActivateResponse) -> list[recall_pb2.Hit]:
    """Return all hits, best first."""
    return sorted([*answer.hits.observations, *answer.hits.turns], key=lambda hit: -hit.score)


def found_by(answer: recall_pb2.RecallResponse, content: str) -> set[int]:
    """Return the tiers that found a text; empty when it is not among the hits."""
    return {tier for hit in hits(answer) if hit.content == content for tier in hit.found_by}


ACTIVE, DEEP = common_pb2.TIER_ACTIVE, common_pb2.TIER_DEEP
