"""A plan whose servers are tiny real processes beside a real store."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.plan import MODULES, Command, Plan, Process, Role
from remembrancer.cli.local.ports import LOOPBACK, free_ports
from remembrancer.cli.local.store import store_command, store_url

SCRIPT = Path(__file__).parent / "health_process.py"

PlanMaker = Callable[..., Plan]


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder.at(tmp_path / "data with a space")


@pytest.fixture
def make_small_plan(folder: DataFolder) -> PlanMaker:
    """Return a function that makes a plan; keyword arguments replace the commands of roles, `check` or `prepare`."""

    def make(**commands: list[str]) -> Plan:
        port, *ports = free_ports(1 + len(MODULES))
        url = store_url(folder, port)
        processes = {Role.STORE: Process(Role.STORE, Command(store_command(folder, port), {}), url, url)}
        for role, free in zip(MODULES, ports, strict=True):
            address = f"{LOOPBACK}:{free}"
            arguments = commands.get(role, [sys.executable, str(SCRIPT), address])
            processes[role] = Process(role, Command(arguments, dict(os.environ)), address, address)
        nothing = [sys.executable, "-c", ""]
        check, prepare = (Command(commands.get(name, nothing), dict(os.environ)) for name in ("check", "prepare"))
        return Plan(check, prepare, processes)

    return make
