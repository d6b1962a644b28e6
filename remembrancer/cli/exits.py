"""Exit codes of the command."""

from __future__ import annotations

from typing import Final

FAILED: Final = 1
"""What was asked for failed; of `status`: not every process is ready."""

USAGE: Final = 2
"""What was typed, or what a file holds, cannot be used."""

NOT_RUNNING: Final = 3
"""The service does not run here; the code that the Linux Standard Base gives to `status` of init scripts."""

INTERRUPTED: Final = 130
"""Ended by Ctrl-C; the code that shells give to a command that SIGINT ended."""
