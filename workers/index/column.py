"""A one-dimensional array that grows."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S", bound=np.generic)


class Column(Generic[S]):
    """Values of one numpy type; appending costs amortised constant time."""

    def __init__(self, dtype: type[S]) -> None:
        """Start empty."""
        self._data: NDArray[S] = np.zeros(64, dtype)
        self._size = 0

    def __len__(self) -> int:
        """Return the number of values."""
        return self._size

    @property
    def values(self) -> NDArray[S]:
        """The values, as a view that holds until the next `append` or `keep`."""
        return self._data[: self._size]

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._data.nbytes

    def append(self, value: float) -> None:
        """Add a value at the end."""
        if self._size == len(self._data):
            self._data = np.concatenate((self._data, np.zeros_like(self._data)))
        self._data[self._size] = value
        self._size += 1

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the values where `mask` is false."""
        kept = self.values[mask]
        self._data = np.concatenate((kept, np.zeros(64, kept.dtype)))
        self._size = len(kept)
