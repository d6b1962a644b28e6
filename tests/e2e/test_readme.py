"""What the README shows works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from remembrancer.cli.local.service import LocalService
from remembrancer.v1 import memory_pb2, recall_pb2, session_pb2

README = Path(__file__).parents[2] / "README.md"
ADDRESS = "127.0.0.1:7700"


def test_the_example_runs_again_and_again(service: LocalService, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert ADDRESS in example
    program = compile(example.replace(ADDRESS, service.address), str(README), "exec")
    for _ in range(8):
        exec(program, {})
        first, *_, last = capsys.readouterr().out.splitlines()
        assert re.fullmatch(r"0\.\d\d sch_1 The staging database lives on host heron\.", first)
        assert re.fullmatch(r"committed ep_\d+", last)


def test_the_table_of_calls_is_the_api() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+Service)` \|", README.read_text(), re.MULTILINE)
    services = [s for file in (session_pb2, recall_pb2, memory_pb2) for s in file.DESCRIPTOR.services_by_name.values()]
    assert sorted(rows) == sorted((method.name, service.name) for service in services for method in service.methods)


def test_every_command_and_target_it_names_exists() -> None:
    text = README.read_text()
    makefile = (README.parent / "Makefile").read_text()
    for target in set(re.findall(r"make ([a-z-]+)", text)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for path in re.findall(r"\]\(([^)]+)\)", text):
        assert (README.parent / path).exists(), path
