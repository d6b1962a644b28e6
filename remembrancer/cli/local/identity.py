"""Processes recognised by id and start time, so that a reused id is never taken for the process it was."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import psutil

_POLL_S = 0.02
_SAME_START_S = 1.0
"""Start times are derived from the clock, which may have been set since."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process: its id, and when it started in seconds since the epoch."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity | None:
        """Return the identity of a running process; None when there is none."""
        try:
            return cls(pid, psutil.Process(pid).create_time())
        except psutil.NoSuchProcess:
            return None

    @classmethod
    def mine(cls) -> ProcessIdentity:
        """Return the identity of this process."""
        return cls(os.getpid(), psutil.Process().create_time())

    @classmethod
    def from_json(cls, value: Any) -> ProcessIdentity | None:
        """Read what `to_json` wrote; None for anything else."""
        match value:
            case {"pid": int(pid), "started": int() | float() as started}:
                return cls(pid, float(started))
            case _:
                return None

    def to_json(self) -> dict[str, float]:
        """Return a value for the state file."""
        return {"pid": self.pid, "started": self.started}

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
            if abs(process.create_time() - self.started) > _SAME_START_S or process.status() == psutil.STATUS_ZOMBIE:
                return None
        except psutil.NoSuchProcess:
            return None
        return process
