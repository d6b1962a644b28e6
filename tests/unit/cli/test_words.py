"""What the command says: how to go on, what runs, what is missing."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
import typer
from rich.console import Console
from typer.core import TyperGroup

from remembrancer.cli import up as up_module
from remembrancer.cli.display import StartProgress, show_failure
from remembrancer.cli.down import down
from remembrancer.cli.hints import program, typed
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.identity import ProcessIdentity
from remembrancer.cli.local.plan import make_plan
from remembrancer.cli.local.settings_check import classes, variables
from remembrancer.cli.local.state import Phase, RoleState, State, write_state
from remembrancer.cli.main import build_app, main
from remembrancer.cli.memories import look
from remembrancer.cli.status import status
from remembrancer.cli.up import USUAL_PORT, stop_on_signals, up, usual_port
from remembrancer.cli.variables import unread
from remembrancer.runtime.settings import load
from remembrancer.v1 import listing_pb2, recall_pb2, record_pb2
from tests.valkey import until


def narrow() -> tuple[Console, io.StringIO]:
    shown = io.StringIO()
    return Console(file=shown, width=30), shown


def running(phase: Phase, gateway: str = "127.0.0.1:54321", failure: str = "") -> State:
    me = ProcessIdentity.of(os.getpid())
    assert me is not None
    role = RoleState(None, gateway, "127.0.0.1:1", ready=True, starts=1)
    return State(phase, me, gateway, {"gateway": role}, failure)


def test_commands_are_shown_as_they_are_typed_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("REMEMBRANCER_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(Path(sys.executable).parents[2])
    assert program() == [f"{Path(sys.executable).parents[1].name}/bin/remembrancer"]
    usual, other = DataFolder.named(tmp_path / "remembrancer"), DataFolder.named(Path("some where"))
    assert typed("down", usual).endswith("/bin/remembrancer down")
    assert typed("status", other).endswith("remembrancer status --data 'some where'")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert typed("down", usual) == "remembrancer down"
    monkeypatch.setenv("REMEMBRANCER_DATA", "some where")
    assert typed("status", other) == "remembrancer status"


def test_a_narrow_terminal_cuts_nothing_off(folder: DataFolder) -> None:
    write_state(folder, running(Phase.READY))
    console, shown = narrow()
    with pytest.raises(typer.Exit) as ended:
        status(console, folder.root)
    assert ended.value.exit_code == 1
    assert "127.0.0.1:54321" in shown.getvalue()
    assert str(folder.root) in shown.getvalue()


def test_looking_and_stopping_name_the_folder_and_make_none(tmp_path: Path) -> None:
    console, shown = narrow()
    with pytest.raises(typer.Exit):
        status(console, tmp_path / "nothing")
    down(console, tmp_path / "nothing")
    assert shown.getvalue().count(f"not running (there is no folder {tmp_path / 'nothing'})") == 2
    assert not (tmp_path / "nothing").exists()


def test_a_service_without_a_readable_note_is_told_of_and_can_be_stopped(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up_module, "_FIRST_NOTE_S", 0.2)
    holds = (
        "import sys, time; from pathlib import Path; from remembrancer.cli.local.folder import DataFolder\n"
        "from remembrancer.cli.local.state import exclusive\n"
        "with exclusive(DataFolder.at(Path(sys.argv[1]))): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", holds, folder.root], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == "held\n"
        folder.state.write_text("{")
        for command in (status, partial(up, gateway_port=None, foreground=False)):
            console, shown = narrow()
            with pytest.raises(typer.Exit) as ended:
                command(console, folder.root)
            assert ended.value.exit_code == 1
            assert f"{folder.state} is missing or unreadable" in shown.getvalue()
            assert f"its supervisor is process {supervisor.pid}." in shown.getvalue()
        console, shown = narrow()
        down(console, folder.root)
        assert "has stopped" in shown.getvalue()
        assert supervisor.wait(5) == -signal.SIGTERM


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_place_that_cannot_be_a_data_folder_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    console, shown = narrow()
    with pytest.raises(typer.Exit) as ended:
        up(console, tmp_path / name, None, foreground=False)
    assert ended.value.exit_code == 2
    (line,) = shown.getvalue().splitlines()
    assert line.startswith(f"The data folder {tmp_path / name} cannot be used: ")


@pytest.mark.parametrize("foreground", [True, False])
def test_a_data_folder_that_cannot_be_written_is_one_line(
    folder: DataFolder, foreground: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    (folder.lock if foreground else folder.log("supervisor")).mkdir()
    console, shown = narrow()
    with pytest.raises(typer.Exit) as ended:
        up(console, folder.root, 0, foreground=foreground)
    assert ended.value.exit_code == 2
    assert f"The data folder {folder.root} cannot be used: " in shown.getvalue()


def test_the_command_ends_when_the_supervision_broke_down(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Mock(address="127.0.0.1:1")
    broken.supervisor.supervising = False
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(up_module, "LocalService", lambda *_, **__: broken)
    console, shown = narrow()
    with pytest.raises(typer.Exit) as ended:
        up(console, folder.root, 0, foreground=True)
    assert ended.value.exit_code == 1
    assert "The supervision broke down" in shown.getvalue()
    broken.stop.assert_called_once()


def test_a_failure_is_shown_as_it_is() -> None:
    console, shown = narrow()
    show_failure(console, "the settings are refused: REMEMBRANCER_X='[red]': no", "", "logs")
    assert "REMEMBRANCER_X='[red]': no" in shown.getvalue()


def test_what_a_start_shows_is_no_markup(folder: DataFolder) -> None:
    shown = io.StringIO()
    console = Console(file=shown, width=200)
    with StartProgress(console) as progress:
        progress.update(running(Phase.READY, "[/]:1"))
    show_failure(console, "[/failure]", "[/tail]", "[/logs]")
    write_state(folder, running(Phase.READY, "[/gateway]:2"))
    up(console, folder.root, None, foreground=False)
    for text in ("[/]:1", "[/failure]", "[/tail]", "[/logs]", "running already: [/gateway]:2"):
        assert text in shown.getvalue()


def test_memories_and_errors_are_no_markup(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    hit = recall_pb2.Hit(memory_id="[i]", content="[/content]", name="[/name]")
    answer = recall_pb2.RecallResponse(hits=recall_pb2.Hits(observations=[hit]))
    answer.deep_tier_error.message = "[/error]"
    answer.warnings.add(message="[/warning]")
    memories = [record_pb2.MemoryRecord(memory_id="[u]", content="[/text]", role="[/role]")]
    client = Mock()
    client.recall.return_value = answer
    client.list_memories.return_value = listing_pb2.ListMemoriesResponse(memories=memories)
    look.recall(client, "org:x", "?", "deep", 5, None, {}, as_json=False)
    look.recent(client, "org:x", 5, {}, hidden=False, as_json=False)
    shown = capsys.readouterr().out
    for text in ("[i]", "[/content]", "[/name]", "part: [/error]", "[/warning]", "[u]", "[/text]", "[/role]"):
        assert text in shown


def test_the_settings_of_all_processes_are_known() -> None:
    names = variables()
    assert {"REMEMBRANCER_LISTEN", "REMEMBRANCER_SESSION_RETRIEVALS", "REMEMBRANCER_MODEL"} <= names
    assert {"REMEMBRANCER_MEMORY_MIB", "REMEMBRANCER_DEEP_TARGETS"} <= names


def test_what_the_commands_read_is_not_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    root = typer.main.get_command(build_app())
    assert isinstance(root, TyperGroup)
    read = {str(option.envvar) for command in root.commands.values() for option in command.params if option.envvar}
    assert read == {"REMEMBRANCER_TARGET", "REMEMBRANCER_TOKEN"}
    for name in (*read, "REMEMBRANCER_DATA", "REMEMBRANCER_TOKENS"):
        monkeypatch.setenv(name, "x")
    (line,) = unread()
    assert line.startswith("REMEMBRANCER_TOKENS is not a setting")


def test_another_port_than_the_usual_one_is_told_of() -> None:
    console, shown = narrow()
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        taken = held.getsockname()[1]
        assert usual_port(console, running(Phase.STOPPED, f"127.0.0.1:{taken}")) in (USUAL_PORT, 0)
    assert f"Port {taken} is in use: taking " in shown.getvalue()
    console, shown = narrow()
    assert usual_port(console, running(Phase.STOPPED, f"127.0.0.1:{taken}")) == taken
    assert shown.getvalue() == ""


def test_t23_another_address_than_the_samples_is_told_with_the_line_that_makes_them_work(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REMEMBRANCER_TARGET", raising=False)
    for gateway, told in (("127.0.0.1:54321", True), ("127.0.0.1:7700", False)):
        write_state(folder, running(Phase.READY, gateway))
        console, shown = narrow()
        up(console, folder.root, None, foreground=False)
        assert (f"\nexport REMEMBRANCER_TARGET={gateway}\n" in shown.getvalue()) == told
        assert ("samples look for it at 127.0.0.1:7700" in shown.getvalue()) == told


def test_t37_a_port_that_needs_a_privilege_is_not_said_to_be_in_use() -> None:
    look = "from remembrancer.cli.local.ports import is_free, obstacle; import os, socket\n"
    as_nobody = "os.geteuid() or os.setuid(65534)\n"
    first = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    if first < 2:
        pytest.skip("every port may be used by everybody here")
    ask = f"print(is_free({first - 1}), obstacle({first - 1}))"
    seen = subprocess.run([sys.executable, "-c", look + as_nobody + ask], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "False needs a privilege that this user does not have"


def test_t37_an_ignored_hangup_stays_ignored() -> None:
    """As under `nohup`; the other signals stop the service."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    try:
        for hangup, then in ((signal.SIG_IGN, signal.SIG_IGN), (signal.SIG_DFL, signal.default_int_handler)):
            signal.signal(signal.SIGHUP, hangup)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            stop_on_signals()
            assert signal.getsignal(signal.SIGHUP) == then
            assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
            assert signal.getsignal(signal.SIGTERM) == signal.default_int_handler
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without HOME and without an entry in the list of users."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "REMEMBRANCER_DATA", "REMEMBRANCER_MODEL_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", Mock(side_effect=KeyError))


def test_t37_without_a_home_folder_the_named_data_folder_is_all_it_takes(
    homeless: None, folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_state(folder, running(Phase.READY))
    console, shown = narrow()
    up(console, folder.root, None, foreground=False)
    assert f"down --data '{folder.root}'" in shown.getvalue()
    monkeypatch.setenv("XDG_CACHE_HOME", make_plan(folder).prepare.environment["XDG_CACHE_HOME"])
    (encoder,) = [settings for settings in classes() if settings.__name__ == "EncoderSettings"]
    assert load(encoder).model_dump()["model_cache"] == folder.root / "cache" / "remembrancer" / "models"


def test_t37_without_a_home_folder_what_has_to_be_named_is_one_line(
    homeless: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in (["status"], ["recent", "project:x"], ["down", "--data", "~nobody-of-this-name/data"]):
        monkeypatch.setattr("sys.argv", ["remembrancer", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "there is no home folder; name a data folder with --data or REMEMBRANCER_DATA" in line
    (encoder,) = [settings for settings in classes() if settings.__name__ == "EncoderSettings"]
    with pytest.raises(SystemExit) as ended:
        load(encoder)
    assert ended.value.code == 2
    assert "REMEMBRANCER_MODEL_CACHE='~/.cache/remembrancer/models': there is no home" in capsys.readouterr().err


def test_without_the_service_s_packages_the_command_says_where_they_come_from() -> None:
    program = "import sys; sys.modules['typer'] = None; from remembrancer.cli.__main__ import main; main()"
    refused = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert refused.returncode == 1
    assert "typer is missing" in refused.stderr
    assert "make" not in refused.stderr  # T26: it may be what has just failed
    readme = Path(__file__).parents[3].joinpath("README.md").read_text()
    assert "python -m pip install --no-deps -r requirements.txt .\n" in refused.stderr
    assert "`pip install --no-deps -r requirements.txt .`" in readme


def test_t26_make_says_which_pythons_will_do(tmp_path: Path) -> None:
    unfit = tmp_path / "python"
    unfit.write_text("#!/bin/sh\nexit 1\n")
    unfit.chmod(0o755)
    makefile = str(Path(__file__).parents[3] / "Makefile")
    command = ["make", "-f", makefile, ".venv/.created", f"PYTHON={unfit}"]
    refused = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 2
    assert "Python 3.11, 3.12 or 3.13 is needed" in refused.stdout
    assert not (tmp_path / ".venv").exists()


def test_make_lists_its_targets_without_colours_when_nobody_looks() -> None:
    listed = subprocess.run(["make", "help"], capture_output=True, text=True, cwd=Path(__file__).parents[3], check=True)
    assert "  status         Show what runs" in listed.stdout
    assert "\x1b" not in listed.stdout


def test_a_second_start_on_another_port_is_refused(folder: DataFolder) -> None:
    write_state(folder, running(Phase.READY))
    console, shown = narrow()
    with pytest.raises(typer.Exit) as ended:
        up(console, folder.root, 7799, foreground=False)
    assert ended.value.exit_code == 2
    assert "runs at 127.0.0.1:54321 already, not on port 7799" in shown.getvalue()
    assert "down --data" in shown.getvalue()


@pytest.mark.parametrize(
    ("end", "said"),
    [(Phase.READY, "running already: 127.0.0.1:54321"), (Phase.FAILED, "did not start: the store ended")],
)
def test_a_second_start_waits_for_the_first(folder: DataFolder, end: Phase, said: str) -> None:
    write_state(folder, running(Phase.STARTING))
    shown = io.StringIO()
    console = Console(file=shown, width=200, force_terminal=True, color_system=None)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(up, console, folder.root, None, foreground=False)
        until(lambda: "gateway" in shown.getvalue(), what="that the start is watched")
        assert not second.done()
        write_state(folder, running(end, failure="the store ended"))
        failed = second.exception(timeout=20)
    assert said in shown.getvalue()
    assert isinstance(failed, typer.Exit) == (end is Phase.FAILED)
