"""One channel and one filled scope for the contract tests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import grpc
import pytest

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client
from tests.contract.requests import World


@pytest.fixture(scope="session")
def channel(service: LocalService) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(service.address) as opened:
        yield opened


@pytest.fixture(scope="session")
def world(client: Client) -> World:
    return World(client, f"contract:{uuid.uuid4()}")
