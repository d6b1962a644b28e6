"""Which memories say the same: near-duplicates."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np
from numpy.typing import NDArray

NEAR: Final = 0.97
"""Cosine from which two memories say the same."""

ROOM: Final = 64


def all_apart(texts: NDArray[np.int64], first_windows: NDArray[np.float32]) -> bool:
    """Return whether no two memories can be near-duplicates: quick to tell, and true of most answers.

    `texts` stand for the folded texts; `first_windows` are the first vectors, (n, dimension), of those that have any.
    Copies have near first windows, which is looked at here, and near others, which is not.
    """
    if len(np.unique(texts)) < len(texts):
        return False
    near = first_windows @ first_windows.T >= NEAR
    np.fill_diagonal(near, val=False)
    return not near.any()


class NearDuplicates:
    """Takes memories one by one, the best first, and says of each whether it is new.

    Two are near-duplicates when they have equal texts, or as many windows each, with a cosine of at least .97 between
    those at the same place: so long texts that share a passage stay apart.
    """

    def __init__(self) -> None:
        """Start without any."""
        self._texts: set[Hashable] = set()
        self._windows: dict[int, tuple[NDArray[np.float32], int]] = {}

    def is_new(self, text: Hashable, windows: NDArray[np.float32] | None) -> bool:
        """Return whether no near-duplicate of it was new before.

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
        if len(windows) == 1:
            return bool((rows[:count, 0] @ windows[0] >= NEAR).any())
        return bool((np.vecdot(rows[:count], windows).min(axis=1) >= NEAR).any())

    def _keep(self, windows: NDArray[np.float32]) -> None:
        rows, count = self._windows.get(len(windows), (np.empty((0, *windows.shape), np.float32), 0))
        if count == len(rows):
            rows = np.concatenate((rows, np.empty((max(ROOM, count), *windows.shape), np.float32)))
        rows[count] = windows
        self._windows[len(windows)] = (rows, count + 1)
