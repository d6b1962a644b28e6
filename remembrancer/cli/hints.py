"""Commands as they are to be typed here: with the path of `remembrancer` and the data folder where that is needed."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from remembrancer.cli.local.folder import DataFolder, NoFolder, default_data_folder
from remembrancer.cli.local.identity import ProcessIdentity


def program() -> list[str]:
    """Return how this installation's command is called from the working folder."""
    own = Path(sys.executable).parent / "remembrancer"
    found = shutil.which("remembrancer")
    if found is not None and own.exists() and own.samefile(found):
        return ["remembrancer"]
    return [near(own)] if own.exists() else [near(Path(sys.executable)), "-m", "remembrancer.cli"]


def typed(verb: str, folder: DataFolder) -> str:
    """Return a whole command; the data folder is named unless it is the default one."""
    data = [] if _is_default(folder) else ["--data", near(folder.root)]
    return shlex.join([*program(), verb, *data])


def _is_default(folder: DataFolder) -> bool:
    try:
        return folder.root == DataFolder.named(default_data_folder()).root
    except NoFolder:
        return False


def unnoted(folder: DataFolder, supervisor: ProcessIdentity) -> str:
    """Return what there is to say when a service runs and its state file does not tell of it."""
    return (
        f"{folder.state} is missing or unreadable, but Remembrancer runs: its supervisor is process {supervisor.pid}. "
        f"Stop it: {typed('down', folder)}"
    )


def not_running(folder: DataFolder) -> str:
    """Return what there is to say when a command finds no service in a data folder."""
    where = "has no running service" if folder.root.exists() else "is not there"
    return (
        f"Remembrancer is not running here: the data folder {folder.root} {where}. "
        f"Start it: {typed('up', folder)}; or name another folder with --data or REMEMBRANCER_DATA"
    )


def near(path: Path) -> str:
    """Return a path as it is typed here: relative when it is below the working folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
