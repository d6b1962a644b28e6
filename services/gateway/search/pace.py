"""How long a stage of the calls takes lately."""

from __future__ import annotations

import time
from typing import Final

HALVED_SECONDS: Final = 2.0
"""After this time a slow case counts half: one pause is soon forgotten, a slow store is not."""


class Pace:
    """The slowest recent case of the stage, in seconds, which fades with time."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._slowest, self._at = 0.0, time.monotonic()

    def note(self, seconds: float) -> None:
        """Take how long one took, or had taken when it was given up."""
        self._slowest, self._at = max(self.recent, seconds), time.monotonic()

    @property
    def recent(self) -> float:
        """Seconds that the stage is likely to take now; 0 while nothing is known."""
        return self._slowest * float(0.5 ** ((time.monotonic() - self._at) / HALVED_SECONDS))
