"""Keeps the processes of a plan running until it is told to stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen

from remembrancer.cli import exits
from remembrancer.cli.hints import typed
from remembrancer.cli.local import append_only_file
from remembrancer.cli.local.child import Child, spawn, tail
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.plan import Command, Plan, Role
from remembrancer.cli.local.readiness import is_ready
from remembrancer.cli.local.trouble import report
from remembrancer.runtime.refusal import BAD_SETTING, WRONG_MODEL

TICK_S = 0.05
GRACE_S = 25.0
"""How long a process may take to end before it is killed: more than its own grace for calls in flight."""
READY_S = 60.0
CHECK_S = 60.0
PREPARE_S = 300.0
RETELL_S = 2.0
"""How soon a change that could not be told of, such as on a full disk, is told of again."""

START_ORDER: tuple[tuple[Role, ...], ...] = (
    (Role.STORE,),
    (Role.ENCODER, Role.ACTIVE, Role.DEEP, Role.GATEWAY),
)
STOP_ORDER: tuple[tuple[Role, ...], ...] = (
    # Callers first, what they call after them, the store last.
    (Role.GATEWAY,),
    (Role.ENCODER, Role.ACTIVE, Role.DEEP),
    (Role.STORE,),
)


class StartFailed(Exception):
    """A process ended or did not get ready while the service was starting."""

    def __init__(self, name: str, what: str, log_tail: str, code: int = exits.FAILED) -> None:
        """Take the process's name, what went wrong, the end of its log, and the command's exit code."""
        super().__init__(f"{name} {what}")
        self.name = name
        self.log_tail = log_tail
        self.code = code


class Supervisor:
    """Runs the processes of a plan; every method may be called from any thread.

    One thread starts all processes and lives as long as they do: their lives are tied to it (see `guard`).
    `on_change` is called by that thread after a process started, got ready or ended, and again while it raises OSError.
    """

    def __init__(self, plan: Plan, folder: DataFolder, on_change: Callable[[], None] = lambda: None) -> None:
        """Take what to run and where logs go; nothing is started yet."""
        self._plan = plan
        self._on_change = on_change
        self._folder = folder
        self._check_log = folder.log("settings")
        self._prepare_log = folder.log("prepare")
        self._lock = threading.RLock()
        self._children = {
            role: Child(role, process.command, folder.log(role)) for role, process in plan.processes.items()
        }
        self._ready: set[Role] = set()
        self._wake = threading.Event()
        self._ended = False
        self._untold = False
        self._tell_due = 0.0
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    @property
    def supervising(self) -> bool:
        """Whether processes are restarted: False before `start`, after `stop`, and when the supervision broke down."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Check settings, prepare, start everything and wait until it is ready.

        Raise StartFailed when a process does not come up. Then, and when it is interrupted, all have been stopped.
        """
        self._thread.start()
        with ExitStack() as unless_started:
            unless_started.callback(self.stop, grace=2.0)
            self._check()
            self._prepare()
            for roles in START_ORDER:
                for role in roles:
                    self.start_role(role)
                for role in roles:
                    self._wait_first_ready(role)
            unless_started.pop_all()

    def stop(self, grace: float = GRACE_S) -> None:
        """Stop everything, callers first; what does not end within `grace` seconds is killed."""
        for roles in STOP_ORDER:
            self._stop_roles(roles, grace)
        self._ended = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def tell(self) -> None:
        """Have `on_change` called soon."""
        with self._lock:
            self._untold = True
        self._wake.set()

    def start_role(self, role: Role) -> None:
        """Have one process run."""
        with self._lock:
            self._children[role].want()
        self._wake.set()

    def stop_role(self, role: Role, grace: float = GRACE_S) -> None:
        """Stop one process and leave it stopped."""
        self._stop_roles((role,), grace)

    def kill(self, role: Role, *, restart: bool = False) -> None:
        """Kill one process without warning (SIGKILL) and wait for its end; it is restarted only when asked to be."""
        with self._lock:
            child = self._children[role]
            child.wanted = False
            child.signal(signal.SIGKILL)
        self._wait(lambda: not child.running, GRACE_S)
        if restart:
            self.start_role(role)

    def crash(self, role: Role) -> None:
        """Kill one process behind the supervisor's back, which will restart it after a pause."""
        with self._lock:
            self._children[role].signal(signal.SIGKILL)

    def suspend(self, role: Role) -> None:
        """Freeze one process (SIGSTOP): it keeps its connections and does not answer."""
        with self._lock:
            self._children[role].signal(signal.SIGSTOP)

    def resume(self, role: Role) -> None:
        """Let a frozen process go on."""
        with self._lock:
            self._children[role].signal(signal.SIGCONT)

    def wait_ready(self, role: Role, timeout: float = READY_S) -> None:
        """Wait until a process says that it is ready; raise TimeoutError."""
        probe = self._plan.processes[role].probe
        if not self._wait(lambda: self._children[role].running and is_ready(probe), timeout):
            raise TimeoutError(f"{role} is not ready after {timeout:g} s")
        self._mark_ready(role)

    def children(self) -> dict[Role, tuple[Child, bool]]:
        """Return every process, and whether it got ready since it was last started."""
        with self._lock:
            return {role: (child, role in self._ready and child.running) for role, child in self._children.items()}

    def _check(self) -> None:
        process = self._spawn("the settings check", self._plan.check, self._check_log)
        if process.wait(CHECK_S) != 0:
            raise _refused_settings(self._check_log)

    def _prepare(self) -> None:
        process = self._spawn("the model build", self._plan.prepare, self._prepare_log)
        if (code := process.wait(PREPARE_S)) == BAD_SETTING:
            raise _refused_settings(self._prepare_log)
        if code != 0:
            raise StartFailed("the model build", f"ended with code {code}", tail(self._prepare_log))

    def _spawn(self, name: str, command: Command, log: Path) -> Popen[bytes]:
        try:
            return spawn(command, log)
        except OSError as error:
            raise StartFailed(name, f"cannot be started: {error}", "") from error

    def _wait_first_ready(self, role: Role) -> None:
        child = self._children[role]
        probe = self._plan.processes[role].probe
        if not self._wait(
            lambda: bool(child.trouble) or child.exit_code is not None or (child.running and is_ready(probe)), READY_S
        ):
            what = f"is not ready after {READY_S:g} s" if self.supervising else "is not supervised any more"
            raise StartFailed(role, what, child.tail())
        if child.trouble:
            raise StartFailed(role, f"cannot be started: {child.trouble}", "")
        if child.exit_code is not None:
            raise StartFailed(role, self._how_it_ended(role, child.exit_code, child.tail()), child.tail())
        self._mark_ready(role)

    def _mark_ready(self, role: Role) -> None:
        with self._lock:
            self._ready.add(role)
        self.tell()

    def _stop_roles(self, roles: Iterable[Role], grace: float) -> None:
        children = [self._children[role] for role in roles]
        with self._lock:
            for child in children:
                child.wanted = False
                child.signal(signal.SIGTERM)
        if not self._wait(lambda: not any(child.running for child in children), grace):
            with self._lock:
                for child in children:
                    child.signal(signal.SIGKILL)
            self._wait(lambda: not any(child.running for child in children), GRACE_S)

    def _wait(self, condition: Callable[[], bool], timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        while not condition():
            # Nobody takes note of anything once the supervision broke down.
            if time.monotonic() >= deadline or not self.supervising:
                return False
            time.sleep(TICK_S)
        return True

    def _run(self) -> None:
        while not self._ended:
            with self._lock:
                now = time.monotonic()
                changed = [role for role, child in self._children.items() if child.tick(now)]
                self._ready.difference_update(changed)
                self._untold = self._untold or bool(changed)
            self._tell(now)
            self._wake.wait(TICK_S)
            self._wake.clear()

    def _tell(self, now: float) -> None:
        with self._lock:
            due = self._untold and now >= self._tell_due
            self._untold = self._untold and not due
        if not due:
            return
        try:
            self._on_change()
            self._trouble = ""
        except OSError as error:
            if self._trouble != (trouble := str(error)):
                self._trouble = trouble
                report(f"what runs cannot be noted, a try every {RETELL_S:g} s: {error}")
            self._tell_due = now + RETELL_S
            self.tell()

    def _how_it_ended(self, role: Role, code: int, log_tail: str) -> str:
        ended = f"ended with code {code} while starting"
        if role is Role.ENCODER and code == WRONG_MODEL:
            ended += ": start with the model that the store serves; then `remembrancer reindex --model M` changes it"
        if role is Role.STORE and append_only_file.DAMAGED in log_tail:
            ended += f": its append-only file is damaged; to cut it off at the damage: {typed('repair', self._folder)}"
        return ended


def _refused_settings(log: Path) -> StartFailed:
    return StartFailed("the settings", f"are refused: {tail(log)}", "", exits.USAGE)
