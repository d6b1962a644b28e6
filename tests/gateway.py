"""Further gateways beside the shared service: same store and workers, other settings."""

from __future__ import annotations

import subprocess
from types import TracebackType

from remembrancer.cli.local.child import spawn
from remembrancer.cli.local.plan import Command, Role
from remembrancer.cli.local.ports import LOOPBACK, free_ports
from remembrancer.cli.local.readiness import is_ready
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client
from tests.valkey import until


class Gateway:
    """One more gateway process. A context manager."""

    def __init__(self, service: LocalService, **settings: str) -> None:
        """Take settings that differ from the shared gateway's, such as `session_idle_seconds="1"`."""
        command = service.plan.processes[Role.GATEWAY].command
        port, ops = free_ports(2)
        self.address, self._ops = f"{LOOPBACK}:{port}", f"{LOOPBACK}:{ops}"
        own = {"listen": self.address, "ops_listen": self._ops, **settings}
        environment = {f"REMEMBRANCER_{name.upper()}": value for name, value in own.items()}
        self._command = Command(command.arguments, {**command.environment, **environment})
        self._log = service.folder.log(f"gateway-{port}")
        self._process: subprocess.Popen[bytes]

    def start(self) -> None:
        self._process = spawn(self._command, self._log)
        until(lambda: is_ready(self._ops), what="that the gateway serves")

    def kill(self) -> None:
        """End it without warning (SIGKILL)."""
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    def client(self) -> Client:
        """Return a client that fails at once."""
        return Client.connect(self.address, attempts=1)

    def __enter__(self) -> Gateway:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
