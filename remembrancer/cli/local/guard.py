"""Ties a command's life to its parent's, then becomes that command.

Run by path, with the parent's process id and the command. On Linux the kernel kills the command when the parent's
starting thread ends, however it ends, so that no orphan is left behind. Elsewhere the next `up` or `down` finds orphans
by the state file.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Become the command; exit at once when the parent is gone already."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit("prctl failed")
    if os.getppid() != parent:
        sys.exit("the parent is gone")
    os.execve(command[0], command, os.environ)  # noqa: S606


if __name__ == "__main__":
    main()
