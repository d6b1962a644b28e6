"""A store that lost its data learns the serving model anew with the first write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory
from tests.service import contents, open_store


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[LocalService]:
    """A service whose data may be lost."""
    with LocalService(tmp_path) as running:
        yield running


def test_b14_after_the_store_lost_its_data_new_memories_are_found_by_meaning(own_service: LocalService) -> None:
    with Client.connect(own_service.address, attempts=1) as client, open_store(own_service.plan) as store:
        client.remember([memory("fact", "An old fact that is lost.")], scope="test:lost")
        store.flushall()
        client.remember([memory("fact", "The physician advised more sleep.")], scope="test:lost")
        session = client.activate("a check", "to see", scope="test:lost")
        answer = client.recall("what did the doctor say about rest?", scope="test:lost", session_id=session.session_id)
        assert contents(answer) == ["The physician advised more sleep."]
        assert not answer.HasField("active_tier_error")
