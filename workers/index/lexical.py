"""Words of one partition: BM25 over growing postings, with what the turn before lends.

BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
never-negative inverse document frequency ln(1 + (N - df + .5) / (df + .5)). Document counts and lengths are those of
all live records of the partition, whatever a search's filter lets through.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workers.index.column import Column

K1: Final = 0.9
B: Final = 0.4
"""Short, chatty texts want less saturation and less length normalisation than the textbook 1.2 and .75."""

TF_BITS: Final = 16
"""A posting is the slot shifted by this, plus the term's frequency."""

TF_MAX: Final = (1 << TF_BITS) - 1

TERM_BYTES: Final = 200
POSTING_BYTES: Final = 8
"""About the size of a term with its list, and of one entry in it."""


@dataclass(frozen=True, slots=True)
class Matches:
    """By slot, 0..1: how much of the query a text matches.

    It is the share of what a text of average length has that holds every term once. `alone` counts the text's own
    words, `paired` also those of the turn before it.
    """

    alone: NDArray[np.float64]
    paired: NDArray[np.float64]

    def lifted(self, other: Matches, share: float) -> Matches:
        """Return these, moved towards 1 by a share, 0..1, of the other ones; what matches nothing here stays 0."""

        def lift(own: NDArray[np.float64], lent: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.where(own > 0, own + (1 - own) * share * lent, 0.0)

        return Matches(lift(self.alone, other.alone), lift(self.paired, other.paired))


class Lexical:
    """Postings by term; searchable as soon as a text is added."""

    def __init__(self) -> None:
        """Start empty."""
        self._postings: dict[str, array[int]] = {}
        self._length = Column(np.int32)
        self._live = 0
        self._live_length = 0
        self._size = 0

    def add(self, terms: Sequence[str], aside: Sequence[str] = ()) -> None:
        """Take in the next slot with its terms; it is found by those `aside` too, but is no longer for having them."""
        slot = len(self._length)
        self._length.append(len(terms))
        self._live += 1
        self._live_length += len(terms)
        for term, frequency in Counter((*terms, *aside)).items():
            posting = self._postings.get(term)
            if posting is None:
                posting = self._postings[term] = array("Q")
                self._size += TERM_BYTES
            posting.append(slot << TF_BITS | min(frequency, TF_MAX))
            self._size += POSTING_BYTES

    def remove(self, slot: int) -> None:
        """Take a slot out of the counts; its postings go at the next `keep`."""
        self._live -= 1
        self._live_length -= int(self._length.values[slot])

    def frequency(self, term: str, alive: NDArray[np.bool_]) -> int:
        """Return how many live texts hold a term."""
        slots, _ = self._posting(term, alive)
        return len(slots)

    def match(
        self,
        terms: Iterable[str],
        alive: NDArray[np.bool_],
        allowed: NDArray[np.bool_],
        before: NDArray[np.int32],
        after: NDArray[np.int32],
    ) -> Matches:
        """Match the query's terms with the texts allowed; `before`, `after`: the slot of the turn next to each, or -1.

        Terms that no text holds count in the share: a query that shares one common word with a text stays low.
        """
        size = len(self._length)
        alone, paired = np.zeros(size), np.zeros(size)
        if not self._live:
            return Matches(alone, paired)
        length = self._length.values.astype(np.float64)
        pair_length = length + np.where(before >= 0, length[before], 0.0)
        norm = K1 * (1 - B + B * length * self._live / max(self._live_length, 1))
        pair_norm = K1 * (1 - B + B * pair_length / max(float(pair_length[alive].mean()), 1.0))
        frequency = np.zeros(size)
        highest = 0.0
        for term in dict.fromkeys(terms):
            slots, found = self._posting(term, alive)
            idf = float(np.log1p((self._live - len(slots) + 0.5) / (len(slots) + 0.5)))
            highest += idf
            inside = allowed[slots]
            slots, found = slots[inside], found[inside]
            alone[slots] += idf * (K1 + 1) * found / (found + norm[slots])
            following = after[slots]
            lends = (following >= 0) & allowed[following]
            frequency[slots] = found
            fresh = following[lends]
            fresh = fresh[frequency[fresh] == 0]
            frequency[following[lends]] += found[lends]
            both = np.concatenate((slots, fresh))
            total = frequency[both]
            frequency[both] = 0.0
            paired[both] += idf * (K1 + 1) * total / (total + pair_norm[both])
        if highest:
            alone, paired = alone / highest, paired / highest
        return Matches(np.minimum(alone, 1.0), np.minimum(paired, 1.0))

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the slots where `mask` is false, all of which were removed before."""
        moved = (np.cumsum(mask) - 1).astype(np.uint64)
        self._length.keep(mask)
        kept: dict[str, array[int]] = {}
        for term, posting in self._postings.items():
            raw = np.array(posting, np.uint64)
            slots = (raw >> np.uint64(TF_BITS)).astype(np.int64)
            inside = mask[slots]
            if inside.any():
                raw = (moved[slots[inside]] << np.uint64(TF_BITS)) | (raw[inside] & np.uint64(TF_MAX))
                kept[term] = array("Q", raw.tobytes())
        self._postings = kept
        self._size = sum(TERM_BYTES + POSTING_BYTES * len(posting) for posting in kept.values())

    def nbytes(self) -> int:
        """Return about how much memory this holds."""
        return self._size + self._length.nbytes

    def _posting(self, term: str, alive: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        posting = self._postings.get(term)
        if posting is None:
            return np.zeros(0, np.int64), np.zeros(0)
        raw = np.array(posting, np.uint64)
        slots = (raw >> np.uint64(TF_BITS)).astype(np.int64)
        live = alive[slots]
        return slots[live], (raw[live] & np.uint64(TF_MAX)).astype(np.float64)
