"""The supervisor, with real processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from remembrancer.cli.local import supervisor as supervisor_module
from remembrancer.cli.local.child import spawn
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.identity import ProcessIdentity
from remembrancer.cli.local.plan import Command, Plan, Role
from remembrancer.cli.local.ports import free_ports
from remembrancer.cli.local.readiness import is_ready
from remembrancer.cli.local.store import store_command, store_url
from remembrancer.cli.local.supervisor import StartFailed, Supervisor
from remembrancer.runtime.refusal import WRONG_MODEL
from tests.service import open_store
from tests.unit.cli.conftest import PlanMaker


def identities(supervisor: Supervisor) -> dict[Role, ProcessIdentity]:
    found = {role: child.identity for role, (child, _) in supervisor.children().items()}
    return {role: identity for role, identity in found.items() if identity is not None}


def eventually(condition: Callable[[], bool], timeout: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


@pytest.fixture
def plan(make_small_plan: PlanMaker) -> Plan:
    return make_small_plan()


@pytest.fixture
def running(plan: Plan, folder: DataFolder) -> Iterator[Supervisor]:
    supervisor = Supervisor(plan, folder)
    supervisor.start()
    yield supervisor
    supervisor.stop()


def test_all_are_ready_after_start_and_gone_after_stop(plan: Plan, folder: DataFolder, dead_proxies: None) -> None:
    """T31 too: a proxy that does not answer stands in nobody's way."""
    supervisor = Supervisor(plan, folder)
    supervisor.start()
    processes = identities(supervisor)
    assert set(processes) == set(Role)
    assert all(is_ready(process.probe) for process in plan.processes.values())

    supervisor.stop()
    assert not any(identity.alive() for identity in processes.values())
    assert "ended in order" in folder.log(Role.GATEWAY).read_text()


def test_a_crashed_process_is_restarted(running: Supervisor) -> None:
    before = identities(running)[Role.ENCODER]
    running.crash(Role.ENCODER)
    assert eventually(lambda: not before.alive())
    running.wait_ready(Role.ENCODER, 10)
    assert identities(running)[Role.ENCODER] != before


def test_a_process_that_keeps_crashing_is_restarted_ever_more_rarely(running: Supervisor) -> None:
    child, _ = running.children()[Role.DEEP]
    began = time.monotonic()
    for starts in range(2, 5):
        running.crash(Role.DEEP)
        assert eventually(lambda: child.starts == starts)  # noqa: B023
    # Pauses of .25, .5 and 1 s.
    assert time.monotonic() - began >= 1.75


def test_a_process_whose_log_cannot_be_written_is_tried_again_while_the_others_run(
    running: Supervisor, folder: DataFolder
) -> None:
    before = identities(running)
    child, _ = running.children()[Role.DEEP]
    child.log.unlink()
    child.log.mkdir()
    running.crash(Role.DEEP)
    assert eventually(lambda: "Is a directory" in child.trouble)
    assert running.supervising
    after = identities(running)
    assert after == {role: identity for role, identity in before.items() if role is not Role.DEEP}
    child.log.rmdir()
    running.wait_ready(Role.DEEP, 15)
    assert child.trouble == ""
    assert child.starts == 2


def test_a_logs_folder_that_was_removed_is_made_again(running: Supervisor, folder: DataFolder) -> None:
    shutil.rmtree(folder.logs)
    running.crash(Role.DEEP)
    child, _ = running.children()[Role.DEEP]
    assert eventually(lambda: child.starts == 2)
    assert folder.logs.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["deep", "settings"])
def test_a_start_that_cannot_write_its_log_fails_with_the_reason(
    make_small_plan: PlanMaker, folder: DataFolder, name: str
) -> None:
    folder.log(name).mkdir()
    supervisor = Supervisor(make_small_plan(), folder)
    with pytest.raises(StartFailed, match=r"cannot be started: .*Is a directory"):
        supervisor.start()
    assert identities(supervisor) == {}


def test_a_change_that_cannot_be_noted_is_noted_later(
    plan: Plan, folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "RETELL_S", 0.1)
    full, tries, noted = True, 0, 0

    def note() -> None:
        nonlocal tries, noted
        tries += 1
        if full:
            raise OSError(28, "No space left on device")
        noted += 1

    supervisor = Supervisor(plan, folder, note)
    supervisor.start()
    try:
        assert eventually(lambda: tries >= 3)
        assert supervisor.supervising
        full = False
        assert eventually(lambda: noted > 0)
    finally:
        supervisor.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ties children to their parent on Linux only")
def test_a_supervision_that_broke_down_is_seen_and_stopped_at_once(plan: Plan, folder: DataFolder) -> None:
    broken = False

    def note() -> None:
        if broken:
            raise RuntimeError("a defect")

    supervisor = Supervisor(plan, folder, note)
    supervisor.start()
    processes = identities(supervisor)
    assert supervisor.supervising
    broken = True
    supervisor.tell()
    assert eventually(lambda: not supervisor.supervising)
    assert eventually(lambda: not any(identity.alive() for identity in processes.values()))
    began = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - began < 5


def test_a_killed_process_stays_down_until_it_is_started(running: Supervisor) -> None:
    running.kill(Role.ACTIVE)
    time.sleep(0.6)
    assert Role.ACTIVE not in identities(running)
    running.start_role(Role.ACTIVE)
    running.wait_ready(Role.ACTIVE, 10)


def test_a_suspended_process_is_not_ready_and_can_still_be_stopped(running: Supervisor, plan: Plan) -> None:
    running.suspend(Role.ACTIVE)
    assert not is_ready(plan.processes[Role.ACTIVE].probe, timeout=0.5)
    running.resume(Role.ACTIVE)
    running.wait_ready(Role.ACTIVE, 5)
    running.suspend(Role.ACTIVE)
    running.stop_role(Role.ACTIVE, grace=5)
    assert Role.ACTIVE not in identities(running)


def test_a_process_that_ignores_the_request_to_end_is_killed(make_small_plan: PlanMaker, folder: DataFolder) -> None:
    supervisor = Supervisor(make_small_plan(), folder)
    supervisor.start()
    stubborn = identities(supervisor)[Role.GATEWAY]
    supervisor.suspend(Role.GATEWAY)
    began = time.monotonic()
    supervisor.stop(grace=1.0)
    assert not stubborn.alive()
    assert time.monotonic() - began < 5


def test_a_process_that_dies_early_fails_the_start_with_its_log(make_small_plan: PlanMaker, folder: DataFolder) -> None:
    complaint = [sys.executable, "-c", "import sys; sys.exit('REMEMBRANCER_X=7: must be 1..5')"]
    supervisor = Supervisor(make_small_plan(deep=complaint), folder)
    with pytest.raises(StartFailed) as caught:
        supervisor.start()
    assert caught.value.name == "deep"
    assert "REMEMBRANCER_X=7: must be 1..5" in caught.value.log_tail
    assert identities(supervisor) == {}


def test_an_interrupted_start_leaves_nothing_behind(make_small_plan: PlanMaker, folder: DataFolder) -> None:
    interrupts = f"import os, signal, time; os.kill({os.getpid()}, signal.SIGINT); time.sleep(60)"
    supervisor = Supervisor(make_small_plan(encoder=[sys.executable, "-c", interrupts]), folder)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            supervisor.start()
    finally:
        signal.signal(signal.SIGINT, before)
    started = [child for child, _ in supervisor.children().values() if child.starts]
    assert len(started) >= 2
    assert not any(child.running for child in started)
    assert not supervisor.supervising


def test_a_refused_setting_fails_the_start_with_its_line_before_anything_runs(
    make_small_plan: PlanMaker, folder: DataFolder
) -> None:
    folder.log("settings").write_text("--- 2024-01-01T00:00:00+0000 start\nREMEMBRANCER_OLD=1: is wrong\n")
    refusal = [sys.executable, "-c", "import sys; sys.exit('REMEMBRANCER_X=7: must be 1..5')"]
    supervisor = Supervisor(make_small_plan(check=refusal), folder)
    with pytest.raises(StartFailed) as caught:
        supervisor.start()
    assert str(caught.value) == "the settings are refused: REMEMBRANCER_X=7: must be 1..5"
    assert caught.value.log_tail == ""
    assert not folder.log(Role.STORE).exists()


def test_an_encoder_of_another_model_than_the_store_s_names_the_command_that_changes_it(
    make_small_plan: PlanMaker, folder: DataFolder
) -> None:
    supervisor = Supervisor(make_small_plan(encoder=[sys.executable, "-c", f"raise SystemExit({WRONG_MODEL})"]), folder)
    with pytest.raises(StartFailed, match=r"encoder ended with code 3 while starting: .*`remembrancer reindex"):
        supervisor.start()


def test_the_end_of_a_log_holds_nothing_of_earlier_starts(make_small_plan: PlanMaker, folder: DataFolder) -> None:
    for complaint in ("the first", "the second"):
        command = [sys.executable, "-c", f"import sys; sys.exit('{complaint}')"]
        with pytest.raises(StartFailed) as caught:
            Supervisor(make_small_plan(deep=command), folder).start()
        assert caught.value.log_tail == complaint


def test_a_failed_preparation_fails_the_start(make_small_plan: PlanMaker, folder: DataFolder) -> None:
    supervisor = Supervisor(make_small_plan(prepare=[sys.executable, "-c", "raise SystemExit('no weights')"]), folder)
    with pytest.raises(StartFailed) as caught:
        supervisor.start()
    assert "no weights" in caught.value.log_tail


def test_a_process_that_is_never_ready_fails_the_start(
    make_small_plan: PlanMaker, folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "READY_S", 3.0)  # the others are ready long before
    supervisor = Supervisor(make_small_plan(gateway=[sys.executable, "-c", "import time; time.sleep(60)"]), folder)
    with pytest.raises(StartFailed, match="gateway is not ready"):
        supervisor.start()
    assert identities(supervisor) == {}


def test_the_store_keeps_what_it_acknowledged_when_it_is_killed(running: Supervisor, plan: Plan) -> None:
    with open_store(plan) as store:
        for number in range(200):
            store.set(f"key:{number}", number)
    running.kill(Role.STORE, restart=True)
    running.wait_ready(Role.STORE, 10)
    with open_store(plan) as store:
        assert store.dbsize() == 200
        assert store.config_get("appendfsync")["appendfsync"] == "always"
        assert store.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"


@pytest.mark.parametrize("name", ['a "quoted" one', "two\nlines", "back\\slash\\n", "b[ra]cket*?", "größe #1 $x'"])
def test_the_store_takes_any_name_of_its_folder(tmp_path: Path, name: str) -> None:
    folder = DataFolder.at(tmp_path / name)
    (port,) = free_ports(1)
    process = spawn(Command(store_command(folder, port), {}), folder.log("store"))
    try:
        assert eventually(lambda: is_ready(store_url(folder, port))), folder.log("store").read_text()
        assert list(folder.store.iterdir())
    finally:
        process.terminate()
        process.wait(10)


def test_the_store_refuses_callers_without_the_password(running: Supervisor, plan: Plan) -> None:
    port = plan.store_url.rpartition(":")[2].partition("/")[0]
    with redis.Redis(port=int(port)) as store, pytest.raises(redis.AuthenticationError):
        store.ping()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ties children to their parent on Linux only")
def test_no_orphan_is_left_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from remembrancer.cli.local.child import spawn
        from remembrancer.cli.local.plan import Command
        for _ in range(3):
            process = spawn(Command([sys.executable, "-c", "import time; time.sleep(60)"], {}), Path(sys.argv[1]))
            print(process.pid, flush=True)
        time.sleep(60)
    """)
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert parent.stdout is not None
    children = [ProcessIdentity.of(int(parent.stdout.readline())) for _ in range(3)]
    time.sleep(0.3)
    assert all(child is not None and child.alive() for child in children)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert eventually(lambda: not any(child is not None and child.alive() for child in children))
