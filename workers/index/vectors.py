"""Vectors of one partition: exact inner product over float16 or 8-bit rows, one row per window of a text."""

from __future__ import annotations

from typing import Final

import faiss
import numpy as np
from numpy.typing import NDArray

from workers.index.column import Column

TIE: Final = 1e-5
"""Scores of one search nearer than this to its last one may belong to rows that were cut off at random."""


class Vectors:
    """Rows by slot. A slot has no row or several, next to each other."""

    def __init__(self, dimension: int, eight_bit: bool) -> None:
        """Make an empty index of float16 rows, or of 8-bit ones."""
        self._dimension = dimension
        # Not QT_8bit_direct_signed: it rounds the query to whole numbers too, which of a unit vector leaves nothing.
        self._quantizer = faiss.ScalarQuantizer.QT_8bit_uniform if eight_bit else faiss.ScalarQuantizer.QT_fp16
        self._index = self._empty()
        self._slot_of_row = Column(np.int32)
        self._first_row = Column(np.int32)
        self._row_count = Column(np.int32)

    def add(self, windows: NDArray[np.float32] | None) -> None:
        """Take in the next slot with its windows, float32, (windows, dimension); None = it has no vector."""
        slot = len(self._first_row)
        self._first_row.append(len(self._slot_of_row))
        self._row_count.append(0 if windows is None else len(windows))
        if windows is None:
            return
        self._index.add(windows)
        for _ in range(len(windows)):
            self._slot_of_row.append(slot)

    def embedded(self, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which slots have a vector."""
        return self._row_count.values[slots] > 0

    def search(self, query: NDArray[np.float32], least: int, allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the slots of the nearest texts among those allowed, at least `least` when there are as many.

        All texts that are as near as the last one are in, so that the answer does not depend on the order of rows.
        """
        _one_thread()
        row_allowed = allowed[self._slot_of_row.values]
        possible = int(np.count_nonzero(row_allowed))
        # FAISS keeps a pointer into this array while it searches.
        bits = np.packbits(row_allowed, bitorder="little")
        everything = possible == len(row_allowed)
        selector = faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg, arg-type]  # FAISS's Python layer takes it so.
        parameters = None if everything else faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        rows = least
        while possible:
            rows = min(2 * rows, possible)
            scores, found = self._index.search(query[None, :], rows, params=parameters)
            scores, found = scores[0], found[0]
            inside = found >= 0
            if rows < possible:
                inside &= scores > scores[-1] + TIE
            slots = np.unique(self._slot_of_row.values[found[inside]])
            if rows == possible or len(slots) >= least:
                return slots.astype(np.int64)
        return np.zeros(0, np.int64)

    def cosine(self, query: NDArray[np.float32], slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return, for each slot, the cosine of its best window with the query; 0 without a vector.

        Computed from the stored row alone, in the same way wherever the row stands.
        """
        _one_thread()
        result = np.zeros(len(slots))
        counts = self._row_count.values[slots]
        with_rows = np.flatnonzero(counts)
        if not len(with_rows):
            return result
        counts = counts[with_rows].astype(np.int64)
        starts = np.cumsum(counts) - counts
        rows = np.repeat(self._first_row.values[slots[with_rows]] - starts, counts) + np.arange(counts.sum())
        products = np.vecdot(self._index.reconstruct_batch(rows), query)
        result[with_rows] = np.maximum.reduceat(products, starts)
        return np.clip(result, -1.0, 1.0)

    def first_windows(self, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the first vector of each slot that has any, (n, dimension)."""
        rows = self._first_row.values[slots[self.embedded(slots)]].astype(np.int64)
        found: NDArray[np.float32] = self._index.reconstruct_batch(rows)
        return found

    def windows(self, slots: NDArray[np.int64]) -> list[NDArray[np.float32] | None]:
        """Return, for each slot, the vectors of its text, (windows, dimension); None without."""
        counts = self._row_count.values[slots].astype(np.int64)
        ends = np.cumsum(counts)
        rows = np.repeat(self._first_row.values[slots] - (ends - counts), counts) + np.arange(
            ends[-1] if len(ends) else 0
        )
        stored = self._index.reconstruct_batch(rows) if len(rows) else np.empty((0, self._dimension), np.float32)
        return [stored[end - count : end] if count else None for count, end in zip(counts, ends, strict=True)]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the slots where `mask` is false."""
        row_mask = mask[self._slot_of_row.values]
        rows = np.flatnonzero(row_mask)
        stored = self._index.reconstruct_batch(rows) if len(rows) else None
        moved = np.cumsum(mask, dtype=np.int32) - 1
        self._index = self._empty()
        if stored is not None:
            self._index.add(stored)
        self._slot_of_row.keep(row_mask)
        self._slot_of_row.values[:] = moved[self._slot_of_row.values]
        self._first_row.keep(mask)
        self._row_count.keep(mask)
        counts = self._row_count.values
        self._first_row.values[:] = np.cumsum(counts) - counts

    def nbytes(self) -> int:
        """Return about how much memory this holds."""
        columns = (self._slot_of_row, self._first_row, self._row_count)
        return self._index.ntotal * self._index.code_size + sum(column.nbytes for column in columns)

    def _empty(self) -> faiss.IndexScalarQuantizer:
        index = faiss.IndexScalarQuantizer(self._dimension, self._quantizer, faiss.METRIC_INNER_PRODUCT)
        # The range of 8-bit values is that of a unit vector's components, the same whatever is stored.
        index.train(np.stack([np.full(self._dimension, -1, np.float32), np.full(self._dimension, 1, np.float32)]))
        return index


def _one_thread() -> None:
    """Keep FAISS to the calling thread: one search is too small to share, waking other threads takes longer."""
    faiss.omp_set_num_threads(1)
