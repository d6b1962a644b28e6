"""One process under supervision: started, watched, signalled, restarted with growing pauses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

from remembrancer.cli.local import guard
from remembrancer.cli.local.identity import ProcessIdentity
from remembrancer.cli.local.plan import Command
from remembrancer.cli.local.trouble import report

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 10.0
STEADY_S = 30.0
"""A process that ran this long starts over with the first pause."""
START_MARK = "--- "
"""Begins the line that stands in a log before each start."""
LOG_LIMIT_BYTES = 16 * 2**20
"""A log longer than this is set aside at the next start; one older log is kept."""


class Child:
    """A process that is to run while `wanted`. Not thread-safe: the supervisor's lock guards it."""

    def __init__(self, name: str, command: Command, log: Path) -> None:
        """Take what to run and where its output goes."""
        self.name = name
        self.log = log
        self.wanted = False
        self.starts = 0
        self.exit_code: int | None = None
        self.trouble = ""
        """Why the last start could not be tried at all, such as a full disk; empty when it could."""
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._pause = 0.0
        self._due = 0.0

    @property
    def running(self) -> bool:
        """Whether the process runs, suspended or not."""
        return self._process is not None

    @property
    def identity(self) -> ProcessIdentity | None:
        """Id and start time of the process; None when it does not run."""
        return ProcessIdentity.of(self._process.pid) if self._process is not None else None

    def tick(self, now: float) -> bool:
        """Take note of an exit and start what is due, at the monotonic time `now`; return whether something changed."""
        if self._process is not None:
            return self._reap(now)
        if not self.wanted or now < self._due:
            return False
        return self._start(now)

    def want(self) -> None:
        """Have it run, from now on and without a pause."""
        self.wanted = True
        self._due = self._pause = 0.0

    def signal(self, number: int) -> None:
        """Send a signal; a suspended process is woken so that it can act on a request to end."""
        if self._process is None:
            return
        self._process.send_signal(number)
        if number == signal.SIGTERM:
            self._process.send_signal(signal.SIGCONT)

    def tail(self, lines: int = 20) -> str:
        """Return the end of its log."""
        return tail(self.log, lines)

    def _start(self, now: float) -> bool:
        try:
            self._process = spawn(self._command, self.log)
        except OSError as error:
            self.trouble = str(error)
            self._put_off(now)
            report(f"{self.name} cannot be started, next try in {self._pause:g} s: {error}")
            return False
        self.trouble = ""
        self._started_at = now
        self.starts += 1
        return True

    def _reap(self, now: float) -> bool:
        if self._process is None or (code := self._process.poll()) is None:
            return False
        self._process = None
        self.exit_code = code
        if now - self._started_at >= STEADY_S:
            self._pause = 0.0
        self._put_off(now)
        return True

    def _put_off(self, now: float) -> None:
        self._pause = min(max(FIRST_PAUSE_S, 2 * self._pause), LONGEST_PAUSE_S)
        self._due = now + self._pause


def spawn(command: Command, log: Path) -> subprocess.Popen[bytes]:
    """Start a command whose life is tied to the calling thread's; its output is appended to `log`.

    Raise OSError when the log cannot be written or there is no such command.
    """
    log.parent.mkdir(mode=0o700, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".log.1"))
    with log.open("ab") as output:
        mark_start(output)
        return subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), *command.arguments],
            env=dict(command.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C in a terminal reaches the supervisor alone, which then stops the processes in order.
            start_new_session=True,
            umask=0o077,
        )


def mark_start(log: BinaryIO) -> None:
    """Write the line that stands before each start."""
    log.write(f"{START_MARK}{time.strftime('%Y-%m-%dT%H:%M:%S%z')} start\n".encode())
    log.flush()


def tail(log: Path, lines: int = 20) -> str:
    """Return the last lines that the latest start left in a log; one that left none yet does not count."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16384))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    found: list[str] = []
    begun = False
    for line in text.splitlines():
        if line.startswith(START_MARK) and line.endswith(" start"):
            begun = True
        else:
            found = [line] if begun else [*found, line]
            begun = False
    return "\n".join(found[-lines:])
