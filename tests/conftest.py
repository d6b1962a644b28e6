"""The five real processes, started once for all tests that need them."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client
from tests.proxies import set_dead_proxies
from tests.service import OPERATING_CONTEXT, OpenSession, Outage, Session, Store, open_store, wait_whole

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


class WholeFiles(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Keeps tests that share fixtures in one of the two processes: those of a file, and all that need the cluster."""

    def _split_scope(self, nodeid: str) -> str:
        return "cluster" if OVER_CLUSTER.search(nodeid) else nodeid.partition("::")[0]


OVER_CLUSTER = re.compile(r"\[(?:.*-)?cluster(?:-.*)?\]$")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> WholeFiles:
    """Distribute tests over processes by the fixtures that they share."""
    return WholeFiles(config, log)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    folder = tmp_path_factory.mktemp("remembrancer")
    environment = {"REMEMBRANCER_OPERATING_CONTEXT_FILE": str(folder / OPERATING_CONTEXT)}
    with LocalService(folder, environment=environment) as running:
        yield running


@pytest.fixture(scope="session")
def client(service: LocalService) -> Iterator[Client]:
    """A client that fails at once, where the shipped defaults would try again."""
    with Client.connect(service.address, attempts=1) as connected:
        yield connected


@pytest.fixture(scope="session")
def stored(service: LocalService) -> Iterator[Store]:
    """A look into the service's store."""
    with open_store(service.plan) as connected:
        yield connected


@pytest.fixture
def dead_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the environment name proxies that do not answer."""
    set_dead_proxies(monkeypatch)


@pytest.fixture
def scope() -> str:
    """A scope that no other test writes to."""
    return f"test:{uuid.uuid4()}"


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


@pytest.fixture
def killed(service: LocalService, client: Client) -> Outage:
    """Return a context manager in which processes are down (kill -9); they are ready again after it."""
    return _outage(service, client, service.supervisor.kill, service.supervisor.start_role)


@pytest.fixture
def frozen(service: LocalService, client: Client) -> Outage:
    """Return a context manager in which processes keep their connections and do not answer (SIGSTOP)."""
    return _outage(service, client, service.supervisor.suspend, service.supervisor.resume)


def _outage(
    service: LocalService, client: Client, down: Callable[[Role], object], up: Callable[[Role], object]
) -> Outage:
    @contextlib.contextmanager
    def outage(*roles: Role) -> Iterator[None]:
        for role in roles:
            down(role)
        try:
            yield
        finally:
            for role in roles:
                up(role)
            for role in roles:
                service.supervisor.wait_ready(role, 30)
            wait_whole(client)

    return outage
