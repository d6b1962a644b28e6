"""The data folder and the note of what runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from remembrancer.cli.local.folder import DataFolder, default_data_folder
from remembrancer.cli.local.identity import ProcessIdentity
from remembrancer.cli.local.ports import free_ports, is_free
from remembrancer.cli.local.service import end_leftovers
from remembrancer.cli.local.state import (
    AlreadyRunning,
    Phase,
    RoleState,
    State,
    exclusive,
    read_state,
    unnoted_supervisor,
    write_state,
)


def me() -> ProcessIdentity:
    identity = ProcessIdentity.of(os.getpid())
    assert identity is not None
    return identity


def state_with(identity: ProcessIdentity | None) -> State:
    role = RoleState(identity, "127.0.0.1:1", "127.0.0.1:2", ready=True, starts=3)
    return State(Phase.READY, me(), "127.0.0.1:7700", {"deep": role}, failure="why", log_tail="the end")


@pytest.fixture
def sleeper() -> ProcessIdentity:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    identity = ProcessIdentity.of(process.pid)
    assert identity is not None
    return identity


def test_what_is_written_is_read_back(folder: DataFolder, sleeper: ProcessIdentity) -> None:
    for identity in (sleeper, None):
        write_state(folder, state_with(identity))
        assert read_state(folder) == state_with(identity)
    assert end_leftovers(state_with(sleeper)) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"phase": "ready"}', '{"supervisor": 7, "phase": "ready"}'])
def test_a_damaged_note_counts_as_none(folder: DataFolder, text: str) -> None:
    assert read_state(folder) is None
    folder.state.write_text(text)
    assert read_state(folder) is None


def test_a_reused_process_id_is_not_taken_for_the_process_it_was(sleeper: ProcessIdentity) -> None:
    reused = replace(sleeper, started=me().started)
    assert sleeper.alive()
    assert not reused.alive()
    assert not reused.signal(9)
    assert end_leftovers(state_with(reused)) == 0
    assert sleeper.alive()
    assert end_leftovers(state_with(sleeper)) == 1
    assert not sleeper.alive()


def test_t32_a_step_of_the_clock_changes_no_identity(sleeper: ProcessIdentity) -> None:
    """A process that looks later, after the clock was set, sees the same start."""
    step = "import psutil._pslinux as linux; linux.boot_time.__code__ = (lambda: 2.0e9).__code__; "
    ask = f"from remembrancer.cli.local.identity import ProcessIdentity; print(ProcessIdentity.of({sleeper.pid}))"
    seen = subprocess.run([sys.executable, "-c", step + ask], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == str(sleeper)
    sleeper.signal(9)


def test_t32_a_copy_of_a_folder_that_is_in_use_is_not_in_use(
    folder: DataFolder, tmp_path: Path, sleeper: ProcessIdentity
) -> None:
    with exclusive(folder):
        write_state(folder, state_with(sleeper))
        copy = DataFolder(Path(shutil.copytree(folder.root, tmp_path / "copy")))
        state = read_state(copy)
        assert state is not None
        assert not state.alive()
        assert end_leftovers(state) == 0
        copy.state.unlink()
        assert unnoted_supervisor(copy) is None
        with exclusive(copy):
            assert unnoted_supervisor(copy) == me()
        moved = DataFolder(folder.root.rename(tmp_path / "moved"))
        assert read_state(moved) == state_with(sleeper)
    assert end_leftovers(state_with(sleeper)) == 1


def test_waiting_for_a_process_has_an_end(sleeper: ProcessIdentity) -> None:
    assert not sleeper.wait(0.1)
    sleeper.signal(9)
    assert sleeper.wait(5)


def test_a_service_that_stopped_or_failed_is_not_alive() -> None:
    assert state_with(None).alive()
    assert not replace(state_with(None), phase=Phase.STOPPED).alive()
    assert not replace(state_with(None), phase=Phase.FAILED).alive()


def test_a_folder_has_one_holder_at_a_time(folder: DataFolder) -> None:
    with exclusive(folder), pytest.raises(AlreadyRunning), exclusive(folder):
        pass
    with exclusive(folder):
        pass


def test_the_lock_says_who_holds_the_folder_where_the_note_does_not(folder: DataFolder) -> None:
    assert unnoted_supervisor(folder) is None
    with exclusive(folder):
        assert unnoted_supervisor(folder) == me()
        with pytest.raises(AlreadyRunning), exclusive(folder):
            pass
        assert unnoted_supervisor(folder) == me()
        write_state(folder, replace(state_with(None), supervisor=ProcessIdentity(1, "")))
        assert unnoted_supervisor(folder) == me()
        write_state(folder, state_with(None))
        assert unnoted_supervisor(folder) is None
        folder.state.unlink()
        folder.state.mkdir()
        assert unnoted_supervisor(folder) == me()
    assert unnoted_supervisor(folder) is None


def test_a_folder_that_is_only_looked_at_is_not_made(tmp_path: Path) -> None:
    root = tmp_path / "nothing"
    assert read_state(DataFolder.named(root)) is None
    assert not root.exists()
    (tmp_path / "file").touch()
    assert read_state(DataFolder.named(tmp_path / "file")) is None


def test_a_secret_is_made_once_and_kept_from_others(folder: DataFolder) -> None:
    secret = folder.secret("worker-token")
    assert len(secret) >= 32
    assert folder.secret("worker-token") == secret
    assert folder.secret("store-password") != secret
    assert (folder.root / "secrets" / "worker-token").stat().st_mode & 0o777 == 0o600
    assert folder.root.stat().st_mode & 0o777 == 0o700


def test_the_default_folder_follows_the_xdg_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_data_folder() == tmp_path / "remembrancer"
    monkeypatch.setenv("XDG_DATA_HOME", "relative/paths/do/not/count")
    assert default_data_folder() == Path("/somewhere/.local/share/remembrancer")


def test_free_ports_are_distinct_and_free() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert all(is_free(port) for port in ports)
