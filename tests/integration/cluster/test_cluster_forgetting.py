"""Forget, Export and Import over a cluster, and what the gateway says of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory
from tests.cluster_service import ClusterService, cluster_service
from tests.gateway import Extra
from tests.valkey import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(200)]

WORD = "Zephyrine"


@pytest.fixture(scope="module")
def clustered(service: LocalService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterService]:
    with cluster_service(service, tmp_path_factory.mktemp("cluster"), replicas=1) as running:
        yield running


def holding(service: ClusterService) -> set[int]:
    """Return which nodes' append-only files hold the word."""
    found = set()
    for i, node in enumerate(service.cluster.nodes):
        folder = Path(node.client().config_get("dir")["dir"])
        for path in folder.rglob("*.aof"):
            try:
                raw = path.read_bytes()
            except FileNotFoundError:
                continue  # A rewrite has put another in its place.
            if WORD.encode() in raw:
                found.add(i)
    return found


def test_t2_every_node_that_held_a_piece_rewrites_its_file(clustered: ClusterService) -> None:
    with Client.connect(clustered.address, attempts=1) as client:
        scopes = [f"forget:{i}" for i in range(12)]
        for scope in scopes:
            client.remember([memory("fact", f"{WORD} lives in {scope}.")], scope=scope)
            exported = [record for part in client.export_scope(scope=scope) for record in part.batch.records]
            assert [record.memory.content for record in exported] == [f"{WORD} lives in {scope}."]
        assert holding(clustered) == set(range(4))
        for scope in scopes:
            assert client.forget(scope=scope, whole_scope=True).forgotten == 1
            assert not client.list_memories(scope=scope).memories
    until(lambda: not holding(clustered), 60, "that every node has rewritten its file")


def test_import_fills_scopes_on_every_node(clustered: ClusterService) -> None:
    with Client.connect(clustered.address, attempts=1) as client:
        client.remember([memory("fact", f"Gate {i} is green.") for i in range(5)], scope="import:origin")
        parts = list(client.export_scope(scope="import:origin"))
        for i in range(6):
            scope = f"import:{i}"
            assert list(client.import_scope(parts, scope=scope, import_id="i"))[-1].complete
            again = list(client.export_scope(scope=scope))
            assert [part.batch for part in again] == [part.batch for part in parts]
            assert list(client.import_scope(parts, scope=scope, import_id="i"))[-1].imported == 5


def test_t20_the_gateway_says_at_its_start_what_is_not_safe(clustered: ClusterService) -> None:
    node = clustered.cluster.primaries[1].client()
    settings = clustered.processes[Role.GATEWAY].command.environment
    own = {"store_url": settings["REMEMBRANCER_STORE_URL"], "store_cluster": "true"}
    node.config_set("appendfsync", "everysec")
    try:
        for accepted in ("false", "true"):
            with Extra(clustered, Role.GATEWAY, {**own, "store_unsafe": accepted}) as gateway:
                (log,) = clustered.folder.logs.glob(f"gateway-{gateway.address.rpartition(':')[2]}.log")
                said = log.read_text().count("appendfsync everysec")
                assert said == (1 if accepted == "false" else 0)
    finally:
        node.config_set("appendfsync", "always")
