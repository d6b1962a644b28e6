"""The service on one machine, as one object: the data folder, the plan, the supervisor, and the note of what runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.identity import ProcessIdentity
from remembrancer.cli.local.plan import Plan, make_plan
from remembrancer.cli.local.state import Phase, RoleState, State, exclusive, read_state, write_state
from remembrancer.cli.local.supervisor import StartFailed, Supervisor
from remembrancer.cli.local.trouble import report


class LocalService:
    """Five real processes on loopback. A context manager: entered when all are ready, left when all have ended.

    Raises AlreadyRunning when the data folder is in use, StartFailed when a process does not come up, OSError when the
    data folder cannot be written.
    """

    def __init__(
        self,
        data: Path,
        gateway_port: int = 0,
        environment: Mapping[str, str] | None = None,
        on_state: Callable[[State], None] = lambda _: None,
    ) -> None:
        """Take the data folder, the gateway's port (0 = a free one) and more environment.

        `on_state` is called with every change, from any thread.
        """
        self.folder = DataFolder.at(data)
        self._gateway_port = gateway_port
        self._environment = environment
        self._on_state = on_state
        self._held = ExitStack()
        self._write_lock = threading.Lock()
        self._phase = Phase.STARTING
        self.plan: Plan
        self.supervisor: Supervisor

    @property
    def address(self) -> str:
        """Where the gateway serves."""
        return self.plan.gateway

    def start(self) -> None:
        """Start all processes and wait until they are ready."""
        with ExitStack() as unless_started:
            unless_started.enter_context(exclusive(self.folder))
            before = read_state(self.folder)
            if before is not None:
                end_leftovers(before)
            self.plan = make_plan(self.folder, self._gateway_port, self._environment)
            self.supervisor = Supervisor(self.plan, self.folder, self._note)
            self._note()
            try:
                self.supervisor.start()
            except StartFailed as error:
                self._phase = Phase.FAILED
                self._note_if_possible(str(error), error.log_tail)
                raise
            self._held = unless_started.pop_all()
        self._phase = Phase.READY
        if not self._note_if_possible():
            self.supervisor.tell()

    def stop(self) -> None:
        """Stop all processes; what was acknowledged is on disk."""
        self._phase = Phase.STOPPING
        self.supervisor.tell()
        self.supervisor.stop()
        self._phase = Phase.STOPPED
        self._note_if_possible()
        self._held.close()

    def __enter__(self) -> LocalService:
        """Start."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    def _note_if_possible(self, failure: str = "", log_tail: str = "") -> bool:
        # Without it `status` still sees whether the noted processes run.
        try:
            self._note(failure, log_tail)
        except OSError as error:
            report(f"that the service is {self._phase} cannot be noted: {error}")
            return False
        return True

    def _note(self, failure: str = "", log_tail: str = "") -> None:
        with self._write_lock:
            roles = {
                str(role): RoleState(
                    identity=child.identity,
                    address=self.plan.processes[role].address,
                    probe=self.plan.processes[role].probe,
                    ready=ready,
                    starts=child.starts,
                )
                for role, (child, ready) in self.supervisor.children().items()
            }
            state = State(self._phase, ProcessIdentity.mine(), self.plan.gateway, roles, failure, log_tail)
            write_state(self.folder, state)
            self._on_state(state)


def end_leftovers(state: State) -> int:
    """Kill processes of a supervisor that is gone; return how many there were."""
    left = [role.identity for role in state.roles.values() if role.identity is not None and role.identity.alive()]
    for identity in left:
        identity.signal(signal.SIGKILL)
    for identity in left:
        identity.wait(5.0)
    return len(left)
