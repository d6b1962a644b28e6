"""Who may import whom: one direction, from the processes to the library."""

from __future__ import annotations

import pytest

from tests.unit.packaging.imports import ROOT, imports

PROCESSES = ("services.gateway", "workers.active", "workers.deep", "workers.encoder")


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


def test_the_reindexing_stands_on_the_store_alone() -> None:
    above = ("remembrancer.runtime", "remembrancer.client", "remembrancer.cli", "typer", "rich")
    assert importing("remembrancer.reindex", *above) == []
    assert importing("remembrancer.store", "remembrancer.reindex") == []


def test_the_client_needs_nothing_of_the_server() -> None:
    server = ("remembrancer.model", "remembrancer.store", "remembrancer.runtime", "remembrancer.internal")
    assert importing("remembrancer.client", *server, "redis", "pydantic", "structlog", "numpy") == []
