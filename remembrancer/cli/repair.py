"""`remembrancer repair`: make a damaged append-only file loadable again."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from remembrancer.cli import exits
from remembrancer.cli.hints import typed
from remembrancer.cli.local.append_only_file import CannotRepair
from remembrancer.cli.local.append_only_file import repair as cut
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.state import AlreadyRunning, exclusive


def repair(console: Console, data: Path) -> None:
    """Cut off what follows the damage; exit 1 when that is not possible, 2 when there is no data folder."""
    folder = DataFolder.named(data)
    if not folder.run.is_dir():
        _say(console, f"There is no data folder {folder.root}.")
        raise typer.Exit(exits.USAGE)
    try:
        with exclusive(folder):
            done = cut(folder)
    except AlreadyRunning as error:
        _say(console, f"Remembrancer runs in {folder.root}. Stop it first: {typed('down', folder)}")
        raise typer.Exit(exits.FAILED) from error
    except (CannotRepair, OSError) as error:
        _say(console, f"Not repaired: {error}")
        raise typer.Exit(exits.FAILED) from error
    if done is None:
        _say(console, "The append-only file is whole: nothing was changed.")
        return
    _say(console, f"{done.file}: kept {done.kept_bytes} bytes, cut off {done.cut_bytes} bytes from the damage on.")
    _say(console, f"What was written after the damage is lost here. The store as it was: {done.copy}")
    _say(console, f"Start it: {typed('up', folder)}")


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
