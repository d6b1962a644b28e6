"""Which memories say the same."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np
from numpy.typing import NDArray

NEAR: Final = 0.97
"""Cosine from which two memories say the same."""

ROOM: Final = 64


class Kinds:
    """Takes memories one by one, the best first, and says of each whether it is the first of its kind.

    Two are of a kind when they have equal texts, or as many windows each, with a cosine of at least .97 between those
    at the same place: so long texts that share a passage stay apart.
    """

    def __init__(self) -> None:
        """Start without any."""
        self._texts: set[Hashable] = set()
        self._windows: dict[int, tuple[NDArray[np.float32], int]] = {}

    def is_first(self, text: Hashable, windows: NDArray[np.float32] | None) -> bool:
        """Return whether nothing of its kind came before.

        `text` stands for the folded text; `windows` are its vectors, (windows, dimension), None without.
        """
        if text in self._texts or (windows is not None and self._near(windows)):
            return False
        self._texts.add(text)
        if windows is not None:
            self._keep(windows)
        return True

    def _near(self, windows: NDArray[np.float32]) -> bool:
        rows, count = self._windows.get(len(windows), (None, 0))
        if rows is None:
            return False
        return bool((np.vecdot(rows[:count], windows).min(axis=1) >= NEAR).any())

    def _keep(self, windows: NDArray[np.float32]) -> None:
        rows, count = self._windows.get(len(windows), (np.empty((0, *windows.shape), np.float32), 0))
        if count == len(rows):
            rows = np.concatenate((rows, np.empty((max(ROOM, count), *windows.shape), np.float32)))
        rows[count] = windows
        self._windows[len(windows)] = (rows, count + 1)
