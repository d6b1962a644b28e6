"""The shared service and one over a cluster, further gateways, and a look into the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client
from remembrancer.model.ids import SessionRef, parse_session
from remembrancer.store.keys import PartitionKeys
from tests.cluster_service import ClusterService, cluster_service
from tests.gateway import Gateway, Service
from tests.service import Store, open_store

pytest.register_assert_rewrite("tests.integration.sessions.ledger_machine")

IDLE_SECONDS = 1.0
"""After which sessions expire on the hasty gateway."""

DAY_MS = 86_400_000


@pytest.fixture(scope="session", params=["single", "cluster"])
def topology(request: pytest.FixtureRequest) -> str:
    """Run each test over one store, and over a cluster: in the short form only those marked `essential`.

    It is not `service` itself that has the parameter: the shared service of the same name would start anew with it.
    """
    return str(request.param)


@pytest.fixture(scope="session")
def service(service: LocalService, topology: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    if topology == "single":
        yield service
    else:
        with cluster_service(service, tmp_path_factory.mktemp("cluster")) as running:
            yield running


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most tests over the cluster to the long form."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        over_cluster = callspec is not None and callspec.params.get("topology") == "cluster"
        if over_cluster and item.get_closest_marker("essential") is None:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def client(service: Service) -> Iterator[Client]:
    """A client that fails at once."""
    with Client.connect(service.address, attempts=1) as connected:
        yield connected


@pytest.fixture(scope="session")
def hasty(service: Service) -> Iterator[Client]:
    """A client of a gateway whose sessions expire after a second."""
    with Gateway(service, session_idle_seconds="1") as gateway, gateway.client() as client:
        yield client


@pytest.fixture(scope="session")
def stored(service: Service) -> Iterator[Store]:
    """A look into the service's store, the cluster's too."""
    if isinstance(service, ClusterService):
        with service.cluster.client() as client:
            yield client
    else:
        with open_store(service.plan) as single:
            yield single


Age = Callable[[str, float], None]


@pytest.fixture
def age(stored: Any) -> Age:
    """Return a function that makes a session look as if it had been idle for so many seconds."""

    def make_older(session_id: str, seconds: float) -> None:
        keys, ref = keys_of(session_id)
        active = int(stored.hget(keys.session(ref.ledger), "active"))
        stored.hset(keys.session(ref.ledger), "active", active - int(seconds * 1000))

    return make_older


def keys_of(session_id: str) -> tuple[PartitionKeys, SessionRef]:
    """Return the keys of a session's partition, and the name of its ledger."""
    ref = parse_session(session_id)
    assert ref is not None
    return PartitionKeys(ref.partition), ref
