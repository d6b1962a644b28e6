"""Which memories say the same: near-duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

NEAR: Final = 0.97
"""Cosine from which two memories say the same, if their particulars are the same, too."""

ROOM: Final = 64

Windows = NDArray[np.float32]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Statement:
    """What tells whether two memories are near-duplicates, and which of them is newer.

    `text` stands for the text without case and white space (see `statement_key`), `particulars` for its numbers,
    identifiers, names and negations (see `particulars_key`). `windows` are its vectors, (windows, dimension), None
    without; `at` is the time that makes it newer than another, None when its time is uncertain or after `as_of`.
    """

    text: int
    particulars: int
    windows: Windows | None
    at: float | None


def all_apart(texts: NDArray[np.int64], first_windows: Windows) -> bool:
    """Return whether no two memories can be near-duplicates: quick to tell, and true of most answers.

    `texts` are those of the statements; `first_windows` are the first vectors, (n, dimension), of those that have any.
    Copies have near first windows, which is looked at here, and near others, which is not.
    """
    if len(np.unique(texts)) < len(texts):
        return False
    near = first_windows @ first_windows.T >= NEAR
    np.fill_diagonal(near, val=False)
    return not near.any()


class NearDuplicates(Generic[T]):
    """Takes memories one by one, the best first, and tells what is new from what is a copy.

    Two are near-duplicates when they have equal texts, or the same particulars and as many windows each, with a cosine
    of at least .97 between those at the same place: so long texts that share a passage stay apart, and so does a fact
    from what it was before it changed.
    """

    def __init__(self) -> None:
        """Start without any."""
        self.new: list[T] = []
        """What is new, by its best copy, each represented by the newest one seen."""
        self.copies: list[T] = []
        self.left: list[T] = []
        """What is new, too, but found no room."""
        self._times: list[float | None] = []
        self._texts: dict[int, int] = {}
        self._rows: dict[int, _Rows] = {}

    def take(self, item: T, statement: Statement, room: int) -> None:
        """Put a memory where it belongs; `new` gets no longer than `room`."""
        group = self._group(statement)
        if group is None:
            if len(self.new) < room:
                self._add(item, statement)
            else:
                self.left.append(item)
            return
        self._texts.setdefault(statement.text, group)
        if _newer(statement.at, self._times[group]):
            self.copies.append(self.new[group])
            self.new[group], self._times[group] = item, statement.at
        else:
            self.copies.append(item)

    def add_new(self, item: T, statement: Statement) -> bool:
        """Return whether no near-duplicate is in `new`, to which the memory is added then."""
        is_new = self._group(statement) is None
        if is_new:
            self._add(item, statement)
        return is_new

    def _group(self, statement: Statement) -> int | None:
        known = self._texts.get(statement.text)
        if known is not None or statement.windows is None:
            return known
        rows = self._rows.get(len(statement.windows))
        return None if rows is None else rows.near(statement.windows, statement.particulars)

    def _add(self, item: T, statement: Statement) -> None:
        group = len(self.new)
        self.new.append(item)
        self._times.append(statement.at)
        self._texts[statement.text] = group
        if statement.windows is not None:
            rows = self._rows.setdefault(len(statement.windows), _Rows(statement.windows))
            rows.add(group, statement.windows, statement.particulars)


class _Rows:
    """The vectors of memories that have as many windows each."""

    def __init__(self, like: Windows) -> None:
        self._size = 0
        self._vectors = np.empty((ROOM, *like.shape), np.float32)
        self._particulars = np.empty(ROOM, np.int64)
        self._groups = np.empty(ROOM, np.int64)

    def near(self, windows: Windows, particulars: int) -> int | None:
        rows = self._vectors[: self._size]
        products = rows[:, 0] @ windows[0] if len(windows) == 1 else np.vecdot(rows, windows).min(axis=1)
        places = np.flatnonzero((products >= NEAR) & (self._particulars[: self._size] == particulars))
        return int(self._groups[places[0]]) if len(places) else None

    def add(self, group: int, windows: Windows, particulars: int) -> None:
        if self._size == len(self._groups):
            self._vectors, self._particulars, self._groups = (
                np.concatenate((column, np.empty_like(column)))
                for column in (self._vectors, self._particulars, self._groups)
            )
        self._vectors[self._size] = windows
        self._particulars[self._size] = particulars
        self._groups[self._size] = group
        self._size += 1


def _newer(one: float | None, other: float | None) -> bool:
    """Whether a memory is newer than another; one whose time is uncertain never is."""
    return one is not None and (other is None or one > other)
