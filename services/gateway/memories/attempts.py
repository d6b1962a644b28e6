"""How often the encoder failed at single records, and when they are tried again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

TRIES: Final = 3
"""Failures at a text, each while the encoder does take others, after which its record is set aside."""

BACK_OFF: Final = 2.0
"""Seconds before the second try; four times as many before each later one."""


class Attempts:
    """The failures at the records of one partition, by name."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock in seconds."""
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def failed(self, name: str) -> bool:
        """Count a failure; return whether it was the last one that is allowed, which ends the counting."""
        failures = self._failures.get(name, 0) + 1
        if failures == TRIES:
            self.ended(name)
            return True
        self._failures[name] = failures
        self._due[name] = self._clock() + BACK_OFF * 4 ** (failures - 1)
        return False

    def ended(self, name: str) -> None:
        """Forget a record, which was embedded, set aside or erased."""
        self._failures.pop(name, None)
        self._due.pop(name, None)

    def suspected(self, name: str) -> bool:
        """Return whether the encoder failed at a record before."""
        return name in self._failures

    def waiting(self) -> set[str]:
        """Return the records whose next try is not due yet."""
        now = self._clock()
        return {name for name, due in self._due.items() if due > now}
