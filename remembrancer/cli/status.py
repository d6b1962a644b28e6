"""`remembrancer status`: what runs, asked live."""

from __future__ import annotations

import time
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.readiness import is_ready
from remembrancer.cli.local.state import RoleState, read_state

EXIT_DEGRADED = 1
EXIT_NOT_RUNNING = 3  # as the Linux Standard Base has it for init scripts


def status(console: Console, data: Path) -> None:
    """Print a line per process; exit 0 when all are ready, 1 when some are not, 3 when nothing runs."""
    folder = DataFolder.at(data)
    state = read_state(folder)
    if state is None or not state.alive():
        console.print(f"Remembrancer is not running (data in {folder.root}).", highlight=False)
        raise typer.Exit(EXIT_NOT_RUNNING)
    table = Table("process", "state", "address", "pid", "up for", "restarts", box=None)
    words = {name: _word(role) for name, role in state.roles.items()}
    for name, role in state.roles.items():
        colour = "green" if words[name] == "ready" else "red"
        identity = role.identity
        table.add_row(
            name,
            f"[{colour}]{words[name]}",
            role.address,
            str(identity.pid) if identity else "-",
            _duration(time.time() - identity.started) if identity else "-",
            str(max(0, role.starts - 1)),
        )
    console.print(table)
    console.print(f"gateway {state.gateway}\ndata {folder.root}\nlogs {folder.logs}", highlight=False)
    if any(word != "ready" for word in words.values()):
        raise typer.Exit(EXIT_DEGRADED)


def _word(role: RoleState) -> str:
    if role.identity is None or not role.identity.alive():
        return "down"
    return "ready" if is_ready(role.probe) else "not ready"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
