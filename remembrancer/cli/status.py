"""`remembrancer status`: what runs, asked live."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from remembrancer.cli import exits
from remembrancer.cli.hints import unnoted
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.readiness import is_ready
from remembrancer.cli.local.state import RoleState, read_state, unnoted_supervisor
from remembrancer.cli.set_aside import set_aside

_ROW = "{:<8} {:<9} {:<15} {:<8} {:<8} {}"


def status(console: Console, data: Path) -> None:
    """Print a line per process; exit 0 when all are ready, 1 when some are not, 3 when nothing runs."""
    folder = DataFolder.named(data)
    state = read_state(folder)
    if state is None or not state.alive():
        if (supervisor := unnoted_supervisor(folder)) is not None:
            _line(console, unnoted(folder, supervisor), "red")
            raise typer.Exit(exits.FAILED)
        where = f"data in {folder.root}" if folder.root.exists() else f"there is no folder {folder.root}"
        _line(console, f"Remembrancer is not running ({where}).")
        raise typer.Exit(exits.NOT_RUNNING)
    words = {name: _word(role) for name, role in state.roles.items()}
    _line(console, _ROW.format("process", "state", "address", "pid", "restarts", "up for"))
    for name, role in state.roles.items():
        identity = role.identity
        row = _ROW.format(
            name,
            words[name],
            role.address,
            identity.pid if identity else "-",
            max(0, role.starts - 1),
            _duration(identity.age()) if identity else "-",
        )
        _line(console, row, "green" if words[name] == "ready" else "red")
    for what, value in (("gateway", state.gateway), ("data", folder.root), ("logs", folder.logs)):
        _line(console, f"{what} {value}")
    if Role.STORE in state.roles and (count := set_aside(state.roles[Role.STORE].probe)):
        _line(
            console, f"{count} memories cannot be embedded and are found by words alone; see the gateway's log", "red"
        )
    if any(word != "ready" for word in words.values()):
        raise typer.Exit(exits.FAILED)


def _line(console: Console, text: str, style: str = "") -> None:
    # Soft: a narrow terminal breaks the line itself, and nothing is cut off.
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def _word(role: RoleState) -> str:
    if role.identity is None or not role.identity.alive():
        return "down"
    return "ready" if is_ready(role.probe) else "not ready"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
