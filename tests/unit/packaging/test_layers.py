"""Who may import whom: one direction, from the processes to the library."""

from __future__ import annotations

import pytest

from tests.unit.packaging.imports import ROOT, imports

PROCESSES = ("services.gateway", "workers.active", "workers.deep", "workers.encoder")

GATEWAY = "services.gateway"
BELOW: dict[str, set[str]] = {
    "requests": set(),
    "search": {"requests"},
    "shared": {"requests", "search"},
    "recall": {"requests", "search", "shared"},
    "memories": {"requests", "search", "shared"},
    "transfer": {"requests", "search", "shared"},
    "sessions": {"requests", "search", "shared", "recall"},
}
"""The gateway's packages, and which of them each may import."""


def importing(package: str, *forbidden: str) -> list[str]:
    """Return where a package imports something forbidden."""
    return [
        f"{file.relative_to(ROOT)}: {name}"
        for file, name in imports(package.replace(".", "/"))
        if "_pb2" not in file.name and any(name == part or name.startswith(f"{part}.") for part in forbidden)
    ]


def test_the_packages_are_where_this_looks_for_them() -> None:
    for package in ("remembrancer", "workers.index", *PROCESSES):
        assert list(imports(package.replace(".", "/"))), package


def test_the_library_imports_no_process() -> None:
    assert importing("remembrancer", "services", "workers", "bench", "tests") == []


@pytest.mark.parametrize("process", PROCESSES)
def test_processes_do_not_import_each_other(process: str) -> None:
    others = [other for other in PROCESSES if other != process]
    assert importing(process, *others, "bench", "tests", "remembrancer.client", "remembrancer.cli") == []


def test_the_gateway_imports_nothing_of_the_workers_nor_they_of_it() -> None:
    assert importing("services", "workers") == []
    assert importing("workers", "services") == []
    assert importing("workers.index", *PROCESSES) == []


def test_the_gateway_keeps_its_calls_in_these_packages() -> None:
    folder = ROOT / GATEWAY.replace(".", "/")
    assert {path.parent.name for path in folder.glob("*/__init__.py")} == set(BELOW)
    composed = {"__init__", "__main__", "main", "process", "servicers", "settings"}
    assert {path.stem for path in folder.glob("*.py")} == composed


@pytest.mark.parametrize("package", BELOW)
def test_the_gateways_packages_depend_on_each_other_in_one_direction(package: str) -> None:
    folder = ROOT / GATEWAY.replace(".", "/")
    modules = {path.stem for path in folder.iterdir() if path.stem != package}
    others = sorted(modules - BELOW[package])
    assert importing(f"{GATEWAY}.{package}", *(f"{GATEWAY}.{other}" for other in others)) == []


def test_forgetting_is_known_to_nothing_else_of_the_memories() -> None:
    inside = f"{GATEWAY}.memories"
    found = importing(inside, f"{inside}.forgetting")
    assert [line for line in found if "/forgetting/" not in line] == []


def test_rules_know_neither_grpc_nor_redis_nor_the_layers_above() -> None:
    above = ("remembrancer.store", "remembrancer.runtime", "remembrancer.client", "remembrancer.cli")
    assert importing("remembrancer.model", "grpc", "grpc_status", "grpc_health", "redis", *above) == []


def test_the_store_and_the_runtime_do_not_know_each_other() -> None:
    assert (
        importing("remembrancer.store", "grpc", "remembrancer.runtime", "remembrancer.client", "remembrancer.cli") == []
    )
    assert (
        importing("remembrancer.runtime", "redis", "remembrancer.store", "remembrancer.client", "remembrancer.cli")
        == []
    )


def test_who_writes_to_the_store_does_not_need_what_reads_vectors() -> None:
    reading = ("numpy", "remembrancer.store.reader")
    found = importing("remembrancer.store", *reading)
    assert [line for line in found if not line.startswith("remembrancer/store/reader.py")] == []
    assert found


def test_the_reindexing_stands_on_the_store_alone() -> None:
    above = ("remembrancer.runtime", "remembrancer.client", "remembrancer.cli", "typer", "rich")
    assert importing("remembrancer.reindex", *above) == []
    assert importing("remembrancer.store", "remembrancer.reindex") == []


def test_the_client_needs_nothing_of_the_server() -> None:
    server = ("remembrancer.model", "remembrancer.store", "remembrancer.runtime", "remembrancer.internal")
    assert importing("remembrancer.client", *server, "redis", "pydantic", "structlog", "numpy") == []
