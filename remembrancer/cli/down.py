"""`remembrancer down`: stop the service."""

from __future__ import annotations

import signal
from pathlib import Path

from rich.console import Console

from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.service import end_leftovers
from remembrancer.cli.local.state import read_state, unnoted_supervisor
from remembrancer.cli.local.supervisor import GRACE_S, STOP_ORDER

_LONGEST_STOP_S = len(STOP_ORDER) * GRACE_S + 5.0


def down(console: Console, data: Path) -> None:
    """Stop the service of a data folder, there or not; what a supervisor that is gone left behind is ended, too."""
    folder = DataFolder.named(data)
    state = read_state(folder)
    supervisor = state.supervisor if state is not None and state.alive() else unnoted_supervisor(folder)
    if supervisor is None:
        left = end_leftovers(state) if state is not None else 0
        said = f"Ended {left} processes left behind" if left else "Remembrancer is not running"
        _say(console, said, folder)
        return
    supervisor.signal(signal.SIGTERM)
    with console.status("stopping"):
        if not supervisor.wait(_LONGEST_STOP_S):
            supervisor.signal(signal.SIGKILL)
            if (left_behind := read_state(folder) or state) is not None:
                end_leftovers(left_behind)
    _say(console, "Remembrancer has stopped", folder)


def _say(console: Console, what: str, folder: DataFolder) -> None:
    where = f"data in {folder.root}" if folder.root.exists() else f"there is no folder {folder.root}"
    console.print(f"{what} ({where}).", highlight=False, markup=False, soft_wrap=True)
