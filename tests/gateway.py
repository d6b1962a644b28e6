"""Further processes beside the shared service: same store and workers, other settings."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from remembrancer.cli.local.child import spawn
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.plan import Command, Plan, Role
from remembrancer.cli.local.ports import LOOPBACK, free_ports
from remembrancer.cli.local.readiness import is_ready
from remembrancer.client import Client
from tests.valkey import until


class Service(Protocol):
    """A running service: where its gateway is, what it runs, and where logs go."""

    folder: DataFolder
    plan: Plan

    @property
    def address(self) -> str: ...


class Extra:
    """One more process of a role, on ports of its own. A context manager."""

    def __init__(self, service: Service, role: Role, settings: Mapping[str, str]) -> None:
        """Take settings that differ from the service's own, such as {"session_idle_seconds": "1"}."""
        command = service.plan.processes[role].command
        port, ops = free_ports(2)
        self.address, self.ops = f"{LOOPBACK}:{port}", f"{LOOPBACK}:{ops}"
        own = {"listen": self.address, "ops_listen": self.ops, **settings}
        environment = {f"REMEMBRANCER_{name.upper()}": value for name, value in own.items()}
        self.command = Command(command.arguments, {**command.environment, **environment})
        self._log = service.folder.log(f"{role}-{port}")
        self._process: subprocess.Popen[bytes]

    def spawn(self) -> None:
        """Start it and do not wait."""
        self._process = spawn(self.command, self._log)

    def start(self) -> None:
        self.spawn()
        self.wait_ready()

    def wait_ready(self) -> None:
        until(lambda: is_ready(self.ops), 30, f"that {self.address} is ready")

    def kill(self) -> None:
        """End it without warning (SIGKILL)."""
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    def suspend(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


class Gateway(Extra):
    """One more gateway."""

    def __init__(self, service: Service, **settings: str) -> None:
        super().__init__(service, Role.GATEWAY, settings)

    def client(self) -> Client:
        """Return a client that fails at once."""
        return Client.connect(self.address, attempts=1)
