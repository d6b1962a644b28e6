"""What the README shows works as it stands."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from types import CodeType

import pytest
from pydantic.fields import FieldInfo
from typer.testing import CliRunner

from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.plan import MADE, make_plan
from remembrancer.cli.local.service import LocalService
from remembrancer.cli.local.settings_check import classes, variables
from remembrancer.cli.main import build_app
from remembrancer.runtime.variables import PREFIX
from remembrancer.v1 import memory_pb2, recall_pb2, session_pb2

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def examples(service: LocalService, monkeypatch: pytest.MonkeyPatch) -> list[CodeType]:
    """The programs as they stand (T23)."""
    monkeypatch.setenv("REMEMBRANCER_TARGET", service.address)
    found = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    return [compile(example, str(README), "exec") for example in found]


def test_the_example_without_a_session_runs_again_and_again(
    examples: list[CodeType], capsys: pytest.CaptureFixture[str]
) -> None:
    _, program = examples
    for _ in range(2):
        exec(program, {})
        answer, *messages = capsys.readouterr().out.splitlines()
        assert re.fullmatch(r"We moved the stand-up to nine\. 0\.\d+", answer)
        assert messages == ["user When is the stand-up tomorrow?", " We moved the stand-up to nine."]


def test_the_example_with_a_session_runs_again_and_again(
    examples: list[CodeType], capsys: pytest.CaptureFixture[str]
) -> None:
    program, _ = examples
    for _ in range(8):
        exec(program, {})
        first, *_, last = capsys.readouterr().out.splitlines()
        assert re.fullmatch(r"0\.\d\d sch_1 The staging database lives on host heron\.", first)
        assert re.fullmatch(r"committed ep_\d+", last)


def test_the_commands_run_as_they_stand(service: LocalService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)
    activate, data, notes, *commands = shown.splitlines()
    assert activate.startswith("source ")
    assert data.startswith("export REMEMBRANCER_DATA=.cache/data ")
    assert "\nCACHE := .cache\nDATA_FOLDER ?= $(CACHE)/data\n" in (README.parent / "Makefile").read_text()
    monkeypatch.chdir(tmp_path)
    subprocess.run(notes, shell=True, check=True)
    app, runner = build_app(), CliRunner()
    for line in commands:
        program, *arguments = shlex.split(line, comments=True)
        done = runner.invoke(app, arguments, env={"REMEMBRANCER_TARGET": service.address, "COLUMNS": "200"})
        assert (program, done.exit_code) == ("remembrancer", 0), f"{line}: {done.output}"
        if arguments[0] in ("recall", "recent"):
            assert "The staging database lives on host heron." in done.stdout


def test_the_table_of_calls_is_the_api() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+Service)` \|", README.read_text(), re.MULTILINE)
    services = [s for file in (session_pb2, recall_pb2, memory_pb2) for s in file.DESCRIPTOR.services_by_name.values()]
    assert sorted(rows) == sorted((method.name, service.name) for service in services for method in service.methods)


def test_the_table_of_settings_is_what_the_processes_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    found: dict[str, tuple[str, str]] = {}
    fields = {cls.__name__.removesuffix("Settings").lower(): cls.model_fields for cls in classes()}
    for variable in variables():
        name = variable.removeprefix(PREFIX).lower()
        of = {process: as_written(known[name]) for process, known in fields.items() if name in known}
        found[variable] = (
            "all" if of.keys() == fields.keys() else ", ".join(of),
            ", ".join(dict.fromkeys(of.values())),
        )
    assert {variable: (of, default) for variable, _, of, default in settings_rows()} == found


def as_written(field: FieldInfo) -> str:
    match field.get_default(call_default_factory=True):
        case None | "":
            return "none"
        case bool(value):
            return f"`{str(value).lower()}`"
        case value:
            return f"`{value}`".replace(str(Path.home()), "~")


def test_the_settings_marked_in_the_table_are_those_that_up_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in variables():
        monkeypatch.delenv(variable, raising=False)
    plan = make_plan(DataFolder.at(tmp_path))
    made = {name for process in plan.processes.values() for name in process.command.environment}
    assert {variable for variable, mark, *_ in settings_rows() if mark} == made & variables() == MADE


def settings_rows() -> list[tuple[str, str, str, str]]:
    """Return variable, mark, processes and default of each row."""
    return re.findall(
        r"^\| `(REMEMBRANCER_\w+)`( \*)? \| ([a-z, ]+) \| (.+?) \| .+ \|$", README.read_text(), re.MULTILINE
    )


def test_every_command_and_target_it_names_exists() -> None:
    text = README.read_text()
    makefile = (README.parent / "Makefile").read_text()
    for target in set(re.findall(r"make ([a-z-]+)", text)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for path in re.findall(r"\]\(([^)]+)\)", text):
        assert (README.parent / path).exists(), path
