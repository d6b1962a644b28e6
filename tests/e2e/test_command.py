"""The command `remembrancer`, as a user types it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.ports import free_ports
from remembrancer.cli.local.state import State, read_state
from remembrancer.client import Client, memory, tenant
from tests.proxies import set_dead_proxies
from tests.service import contents

SCOPE = tenant("kept")
KEY = tenant("key")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of a service that the tests look at and the last of them ends."""
    folder = tmp_path_factory.mktemp("shared") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMEMBRANCER_LISTEN", "0.0.0.0:7799")
        set_dead_proxies(patch)
        first = remembrancer("up", folder)
    assert first.returncode == 0, first.stdout
    assert "REMEMBRANCER_LISTEN is not used" in first.stdout
    assert f"ready: {state_of(folder).gateway}" in first.stdout
    assert f"remembrancer down --data {folder}" in first.stdout
    yield folder
    remembrancer("down", folder)


def remembrancer(*arguments: object) -> subprocess.CompletedProcess[str]:
    command, folder, *more = map(str, arguments)
    return subprocess.run(
        [sys.executable, "-m", "remembrancer.cli", command, "--data", folder, *more],
        capture_output=True,
        text=True,
        timeout=90,
        env={**os.environ, "COLUMNS": "200"},
    )


def state_of(data: Path) -> State:
    state = read_state(DataFolder.at(data))
    assert state is not None
    return state


def remaining(state: State) -> list[str]:
    return [name for name, role in state.roles.items() if role.identity is not None and role.identity.alive()]


def eventually_gone(state: State) -> bool:
    deadline = time.monotonic() + 10
    while remaining(state) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not remaining(state)


def test_up_again_joins_what_runs_and_names_a_mistyped_setting(
    shared: Path, monkeypatch: pytest.MonkeyPatch, dead_proxies: None
) -> None:
    """T31 too: `up`, which started `shared`, and the commands here work beside a proxy that does not answer."""
    first = state_of(shared)
    assert len(remaining(first)) == 5
    assert "uses other values of" not in remembrancer("up", shared).stdout
    monkeypatch.setenv("REMEMBRANCER_MAX_INFLIGHT", "7")
    monkeypatch.setenv("REMEMBRANCER_DRAIN", "0.3")
    again = remembrancer("up", shared)
    assert again.returncode == 0
    assert "The running service uses other values of REMEMBRANCER_DRAIN. To apply yours: " in again.stdout
    assert f"running already: {first.gateway}" in again.stdout
    assert "REMEMBRANCER_MAX_INFLIGHT is not a setting" in again.stdout
    assert state_of(shared).supervisor == first.supervisor

    status = remembrancer("status", shared)
    assert status.returncode == 0
    assert all(f"{name} " in status.stdout for name in ("store", "encoder", "active", "deep", "gateway"))
    assert remembrancer("recent", shared, "project:nobody").returncode == 0


def test_secrets_and_notes_are_for_their_owner_only(shared: Path) -> None:
    for path in [shared, *shared.rglob("*")]:
        if path.is_dir() or path.parent.name in ("secrets", "run"):
            assert path.stat().st_mode & 0o077 == 0, path
    secret = (shared / "secrets" / "store-password").read_text()
    for identity in [role.identity for role in state_of(shared).roles.values()]:
        assert identity is not None
        assert secret not in " ".join(psutil.Process(identity.pid).cmdline())
    assert not any(secret in log.read_text() for log in (shared / "logs").iterdir())


def test_everything_listens_on_loopback_only(shared: Path) -> None:
    for role in state_of(shared).roles.values():
        assert role.identity is not None
        listening = [c for c in psutil.Process(role.identity.pid).net_connections() if c.status == psutil.CONN_LISTEN]
        assert listening
        assert {c.laddr.ip.removeprefix("::ffff:") for c in listening} == {"127.0.0.1"}


def test_a_crashed_process_is_restarted(shared: Path) -> None:
    before = state_of(shared)
    victim = before.roles["active"].identity
    assert victim is not None
    victim.signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while remembrancer("status", shared).returncode != 0 and time.monotonic() < deadline:
        time.sleep(0.2)
    after = state_of(shared).roles["active"]
    assert after.starts == 2
    assert after.identity is not None
    assert after.identity != victim


def test_t32_a_copy_of_a_running_folder_does_not_run(shared: Path) -> None:
    copy = shared.parent / "copy"
    subprocess.run(["cp", "-a", shared, copy], check=True)
    assert remembrancer("recent", copy, "project:nobody").returncode == 3
    assert remembrancer("down", copy).stdout == f"Remembrancer is not running (data in {copy}).\n"
    assert len(remaining(state_of(shared))) == 5


def test_a_port_in_use_is_named(shared: Path) -> None:
    port = state_of(shared).gateway.rpartition(":")[2]
    other = remembrancer("up", shared.parent / "other", "--gateway-port", port)
    assert other.returncode == 2
    assert f"Port {port} is in use" in other.stdout


def test_what_was_acknowledged_outlives_a_killed_supervisor_and_a_stop(shared: Path) -> None:
    """The last that uses `shared`: kill, start, stop, start in the foreground, Ctrl-C."""
    killed = state_of(shared)
    with Client.connect(killed.gateway) as client:
        client.remember([memory("fact", "Written just before the end.")], scope=SCOPE)
    killed.supervisor.signal(signal.SIGKILL)
    assert eventually_gone(killed)
    assert remembrancer("status", shared).returncode == 3

    assert remembrancer("up", shared).returncode == 0
    first = state_of(shared)
    assert first.gateway == killed.gateway
    with Client.connect(first.gateway) as client:
        assert contents(client.recall("before the end", scope=SCOPE)) == ["Written just before the end."]
        client.remember([memory("fact", "The key is under the third stone.")], scope=KEY)

    down = remembrancer("down", shared)
    assert down.returncode == 0
    assert remaining(first) == []
    assert remembrancer("status", shared).returncode == 3
    assert f"not running (data in {shared})" in remembrancer("down", shared).stdout

    (port,) = free_ports(1)
    command = [sys.executable, "-m", "remembrancer.cli", "up", "--foreground", "--data", str(shared)]
    process = subprocess.Popen(
        ["nohup", *command, "--gateway-port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    seen = ""
    while "Ctrl-C" not in seen:
        line = process.stdout.readline()
        assert line, seen
        seen += line
    assert f"127.0.0.1:{port}" in seen
    process.send_signal(signal.SIGHUP)  # T37: under nohup it stops nothing
    second = state_of(shared)
    with Client.connect(second.gateway) as client:
        answer = client.recall("where is the key?", scope=KEY, mode="deep", require_tiers=["active", "deep"])
        assert contents(answer) == ["The key is under the third stone."]
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert remaining(second) == []


def test_a_start_that_fails_shows_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T41 too: a wrong setting is exit code 2."""
    data = tmp_path / "data"
    monkeypatch.setenv("REMEMBRANCER_SESSION_RETRIEVALS", "-7")
    monkeypatch.setenv("REMEMBRANCER_GRACE", "long")
    monkeypatch.setenv("REMEMBRANCER_DRAIN", "-1")
    up = remembrancer("up", data)
    assert up.returncode == 2
    assert "settings are refused: " in up.stdout
    assert "REMEMBRANCER_SESSION_RETRIEVALS='-7': " in up.stdout
    assert "1..100000 retrievals per session" in up.stdout
    assert up.stdout.count("REMEMBRANCER_GRACE='long': ") == up.stdout.count("REMEMBRANCER_DRAIN='-1': ") == 1
    state = state_of(data)
    assert [role.starts for role in state.roles.values()] == [0] * 5
    assert not (data / "logs" / "store.log").exists()


def test_a_model_s_folder_without_a_model_is_told_of_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("REMEMBRANCER_MODEL", str(tmp_path / "empty"))
    up = remembrancer("up", tmp_path / "data")
    assert up.returncode == 2
    assert "The service did not start: the settings are refused: " in up.stdout
    assert "has no model.onnx" in up.stdout
    assert "✓ model" not in up.stdout
    assert [role.starts for role in state_of(tmp_path / "data").roles.values()] == [0] * 5


def test_the_demo_tells_its_story() -> None:
    demo = subprocess.run(
        [sys.executable, "-m", "remembrancer.cli", "demo"], capture_output=True, text=True, timeout=100
    )
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "✗" not in demo.stdout
    for shown in ('shares "', "FEEDBACK_INCOMPLETE", "episode ep_", "deep_tier_error: TIER_UNREACHABLE"):
        assert shown in demo.stdout


def test_a_role_runs_by_itself_and_refuses_bad_settings_in_one_line() -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "remembrancer.cli", "run", "gateway"],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "REMEMBRANCER_LISTEN": "nowhere", "REMEMBRANCER_LISTN": "127.0.0.1:1"},
    )
    assert refused.returncode == 2
    warning, line = refused.stderr.splitlines()
    assert "REMEMBRANCER_LISTN is not a setting and changes nothing; did you mean REMEMBRANCER_LISTEN?" in warning
    assert "REMEMBRANCER_LISTEN" in line
    assert "nowhere" in line
