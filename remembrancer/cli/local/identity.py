"""Processes recognised by id and start, so that a reused id is never taken for the process it was."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

_POLL_S = 0.02
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process: its id, and a mark of its start that no other process with this id has.

    On Linux the mark is the boot's id and the clock ticks from boot to start: setting the clock does not change it.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity | None:
        """Return the identity of a running process; None when there is none."""
        try:
            return cls(pid, _start(pid))
        except psutil.NoSuchProcess:
            return None

    @classmethod
    def mine(cls) -> ProcessIdentity:
        """Return the identity of this process."""
        return cls(os.getpid(), _start(os.getpid()))

    @classmethod
    def from_json(cls, value: Any) -> ProcessIdentity | None:
        """Read what `to_json` wrote; None for anything else."""
        match value:
            case {"pid": int(pid), "started": str(started)}:
                return cls(pid, started)
            case _:
                return None

    def to_json(self) -> dict[str, int | str]:
        """Return a value for the state file."""
        return {"pid": self.pid, "started": self.started}

    def age(self) -> float:
        """Return the seconds since the process started; 0 when it is gone."""
        process = self._process()
        return 0.0 if process is None else max(0.0, time.time() - process.create_time())

    def alive(self) -> bool:
        """Say whether this very process still runs."""
        return self._process() is not None

    def signal(self, number: int) -> bool:
        """Send a signal; return False when the process is gone."""
        process = self._process()
        if process is None:
            return False
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            return False
        return True

    def wait(self, timeout: float) -> bool:
        """Wait until the process is gone; return False when it is still there after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        # A process that its parent has not reaped yet is gone, too.
        while self.alive():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def _process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            if _start(self.pid) != self.started or process.status() == psutil.STATUS_ZOMBIE:
                return None
        except psutil.NoSuchProcess:
            return None
        return process


def _start(pid: int) -> str:
    """Return the mark of a process's start. Errors: psutil.NoSuchProcess."""
    if sys.platform != "linux":
        return str(psutil.Process(pid).create_time())
    try:
        # Field 22, see proc_pid_stat(5). The name before it, in parentheses, may hold spaces and parentheses.
        ticks = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    return f"{(_PROC / 'sys/kernel/random/boot_id').read_text().strip()}/{int(ticks)}"
