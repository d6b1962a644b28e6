"""Further gateways over the shared service, and a look into its store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client
from remembrancer.model.ids import SessionRef, parse_session
from remembrancer.store.keys import PartitionKeys
from tests.gateway import Gateway

pytest.register_assert_rewrite("tests.integration.sessions.ledger_machine")

IDLE_SECONDS = 1.0
"""After which sessions expire on the hasty gateway."""

DAY_MS = 86_400_000


@pytest.fixture(scope="session")
def hasty(service: LocalService) -> Iterator[Client]:
    """A client of a gateway whose sessions expire after a second."""
    with Gateway(service, session_idle_seconds="1") as gateway, gateway.client() as client:
        yield client


@pytest.fixture(scope="session")
def stored(service: LocalService) -> Iterator[Any]:
    """A plain client of the shared service's store."""
    with redis.Redis.from_url(service.plan.store_url) as client:
        yield client


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
