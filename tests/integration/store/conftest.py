"""One real Valkey and one real cluster for the tests of the store's own code."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from remembrancer.store.connection import connect
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.store.partition import PartitionStore
from tests.valkey import DURABLE, Cluster, Valkey


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("valkey"), *DURABLE) as running:
        yield running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
async def redis(valkey: Valkey) -> AsyncIterator[Any]:
    client = connect(valkey.url)
    yield client
    await client.aclose()


@pytest.fixture
def store(redis: Any) -> PartitionStore:
    return PartitionStore(redis)


@pytest.fixture
def keys() -> PartitionKeys:
    """Keys of a partition that no other test uses."""
    return PartitionKeys(partition_of(f"test:{uuid.uuid4()}"))
