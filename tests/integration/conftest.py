"""One store and one worker per tier for all tests that leave them whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.integration.tiers import Partition, Tier, opened, take_model
from tests.valkey import Valkey


@pytest.fixture(scope="session")
def tier_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("valkey")) as running:
        take_model(running)
        yield running


@pytest.fixture(scope="session")
async def active(tier_store: Valkey) -> AsyncIterator[Tier]:
    async with Tier("active", tier_store.url) as running:
        yield running


@pytest.fixture(scope="session")
async def deep(tier_store: Valkey) -> AsyncIterator[Tier]:
    async with Tier("deep", tier_store.url) as running:
        yield running


@pytest.fixture
async def partition(tier_store: Valkey, request: pytest.FixtureRequest) -> AsyncIterator[Partition]:
    async with opened(tier_store, request.node.nodeid) as fresh:
        yield fresh
