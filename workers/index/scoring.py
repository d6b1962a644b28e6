"""The direct search of one request: candidates from vectors, words and the task context, all scored in one way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from remembrancer.internal.v1 import tier_pb2
from remembrancer.model import ranking
from remembrancer.model.duplicates import NearDuplicates, Statement, all_apart
from workers.index.lexical import Lexical, Matches
from workers.index.model import BYTES_PER_VALUE, Model
from workers.index.table import Table, microseconds
from workers.index.turns import Turns
from workers.index.vectors import Vectors

Slots = NDArray[np.int64]

LEAST_CANDIDATES: Final = 256
"""Candidates each signal brings at least, so that the first hits do not depend on how many are wanted."""

MOST_CANDIDATES: Final = 16384
"""Candidates each signal brings at most, however many of those seen so far say the same."""

WIDER: Final = 4
"""By how much more each signal is asked for when too many candidates say the same."""

SIDE_CANDIDATES: Final = 64
"""Candidates that the task context, and the times that the query names, bring."""

DAY_US: Final = 86_400_000_000.0


@dataclass(frozen=True, slots=True)
class Scored:
    """Slots by descending score, then by N.

    `relevance` and `bonus`, 0..1 and rounded, make up the score; `similar` is how alike each is to the query, -1..1.
    """

    slots: Slots
    relevance: NDArray[np.float64]
    bonus: NDArray[np.float64]
    similar: NDArray[np.float64]

    def taken(self, places: list[int] | NDArray[np.int64]) -> Scored:
        """Return the entries at these places, in this order."""
        return Scored(self.slots[places], self.relevance[places], self.bonus[places], self.similar[places])


class Scorer:
    """Scores records of one partition for one request. It holds as long as the partition does not change."""

    def __init__(
        self,
        request: tier_pb2.SearchRequest,
        table: Table,
        vectors: Vectors,
        lexical: Lexical,
        turns: Turns,
        model: Model,
    ) -> None:
        """Take the request and the parts of the partition; filters and words are worked out here."""
        self._table, self._vectors, self._turns = table, vectors, turns
        self._as_of = microseconds(request.as_of)
        self._query = query_vector(request, request.query_vector, model)
        self._cue = query_vector(request, request.cue_vector, model)
        self._unrelated = request.unrelated_cosine
        self._allowed = table.allowed(request.filter)
        self._dated = self._allowed & table.within(request.windows)
        self._same = self._allowed & (table.text.values == request.text_key)
        alive, before, after = table.alive.values, turns.before, turns.after
        self._words = lexical.match(request.query.terms, alive, self._allowed, before, after)
        if request.time_terms:
            when = lexical.match(request.time_terms, alive, self._allowed, before, after)
            self._words = self._words.lifted(when, ranking.WEIGHTS.timed)
        self._cue_words: Matches | None = None
        if request.cue.terms:
            self._cue_words = lexical.match(request.cue.terms, alive, self._allowed, before, after)
        self._named = table.speakers(list(request.speakers))

    @property
    def words_only(self) -> bool:
        """Whether there is no query vector that can be compared with those of the partition."""
        return self._query is None

    def best(self, depth: int) -> list[tier_pb2.Candidate]:
        """Return the best `depth` candidates, by descending score, then by N, near-duplicates behind all others.

        While fewer than `depth` of the candidates are new, it looks further.
        """
        least, possible = max(depth, LEAST_CANDIDATES), int(np.count_nonzero(self._allowed))
        while True:
            scored = self._scored(self._candidates(least))
            new, copies = self._new_and_copies(scored.slots, depth)
            if len(new) == depth or least >= min(possible, MOST_CANDIDATES):
                return self._answer(scored.taken([*new, *copies][:depth]))
            least *= WIDER

    def of(self, ns: Iterable[int]) -> dict[int, tier_pb2.Candidate]:
        """Return the records named as candidates, by N; those unknown or not allowed are left out."""
        slots = [slot for n in ns if (slot := self._table.slots.get(n)) is not None]
        return {candidate.n: candidate for candidate in self._answer(self._scored(np.array(slots, np.int64)))}

    def visible(self, n: int) -> bool:
        """Return whether memory N may be returned; never so for a procedure."""
        slot = self._table.slots.get(n)
        return slot is not None and bool(self._allowed[slot])

    def _scored(self, slots: Slots) -> Scored:
        slots = np.unique(slots)
        slots = slots[self._allowed[slots]]
        before, after = self._turns.before[slots], self._turns.after[slots]
        around = np.unique(np.concatenate((slots, before[before >= 0], after[after >= 0])))
        around = around[self._allowed[around]]
        own, similar = np.zeros(len(self._allowed)), np.zeros(len(self._allowed))
        own[around], similar[around] = self._own(around)
        relevance = ranking.with_surroundings(
            own[slots],
            np.where(before >= 0, own[before], 0.0),
            np.where(after >= 0, own[after], 0.0),
            self._fits_cue(slots),
            self._dated[slots],
        )
        relevance[self._same[slots]] = 1.0
        bonus = self._bonus(slots)
        order = np.lexsort((self._table.n.values[slots], -ranking.score(relevance, bonus)))
        return Scored(slots, relevance, bonus, similar[slots]).taken(order)

    def _new_and_copies(self, slots: Slots, wanted: int) -> tuple[list[int], list[int]]:
        """Return the places of what is new, up to `wanted` of them, and of the copies met on the way."""
        best = slots[:wanted]
        if all_apart(self._table.statement.values[best], self._vectors.first_windows(best)):
            return list(range(len(best))), []
        seen = NearDuplicates[int]()
        for begin in range(0, len(slots), wanted):
            for place, statement in enumerate(self._statements(slots[begin : begin + wanted]), begin):
                seen.take(place, statement, wanted)
                if len(seen.new) == wanted:
                    return seen.new, seen.copies
        return seen.new, seen.copies

    def _statements(self, slots: Slots) -> Iterator[Statement]:
        table = self._table
        columns = (table.statement, table.particulars, table.occurred, table.uncertain)
        rows = zip(*(column.values[slots].tolist() for column in columns), self._vectors.windows(slots), strict=True)
        for text, particulars, occurred, uncertain, windows in rows:
            yield Statement(text, particulars, windows, None if uncertain or occurred > self._as_of else occurred)

    def _answer(self, scored: Scored) -> list[tier_pb2.Candidate]:
        slots = scored.slots
        columns = (
            self._table.n.values[slots],
            scored.relevance,
            scored.bonus,
            scored.similar,
            self._words.alone[slots],
        )
        return [
            tier_pb2.Candidate(n=n, relevance=relevance, bonus=bonus, similarity=similar, lexical=lexical)
            for n, relevance, bonus, similar, lexical in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def _candidates(self, least: int) -> Slots:
        found = [
            np.flatnonzero(self._same),
            _highest(self._words.alone, least),
            _highest(self._words.paired, least),
        ]
        if self._query is not None:
            found.append(self._vectors.search(self._query, least, self._allowed))
            if self._dated.any():
                found.append(self._vectors.search(self._query, SIDE_CANDIDATES, self._dated))
        if self._cue is not None:
            found.append(self._vectors.search(self._cue, SIDE_CANDIDATES, self._allowed))
        if self._cue_words is not None:
            found.append(_highest(self._cue_words.alone, SIDE_CANDIDATES))
        return np.concatenate(found)

    def _own(self, slots: Slots) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the relevance by a text's own signals, and how alike it is to the query; 0 without a vector."""
        embedded = self._vectors.embedded(slots)
        similar = None
        if self._query is not None:
            similar = ranking.similarity(self._vectors.cosine(self._query, slots), self._unrelated)
        words = self._words.alone[slots], self._words.paired[slots]
        own = ranking.relevance(similar, embedded, *words, self._named[slots])
        return own, np.zeros(len(slots)) if similar is None else np.where(embedded, similar, 0.0)

    def _fits_cue(self, slots: Slots) -> NDArray[np.float64]:
        fits = np.zeros(len(slots))
        if self._cue is not None:
            fits = np.maximum(fits, ranking.similarity(self._vectors.cosine(self._cue, slots), self._unrelated))
        if self._cue_words is not None:
            fits = np.maximum(fits, self._cue_words.alone[slots])
        return fits

    def _bonus(self, slots: Slots) -> NDArray[np.float64]:
        table = self._table
        learned = ranking.strength(table.helped.values[slots], table.harmed.values[slots])
        age = (self._as_of - table.occurred.values[slots]) / DAY_US
        return ranking.bonus(learned, ranking.recency(age, table.uncertain.values[slots]))


def query_vector(request: tier_pb2.SearchRequest, raw: bytes, model: Model) -> NDArray[np.float32] | None:
    """Return a vector of the request as float32; None when there is none or it is another model's."""
    if not raw or request.model_id != model.id or len(raw) != BYTES_PER_VALUE * model.dimension:
        return None
    return np.frombuffer(raw, "<f2").astype(np.float32)


def _highest(values: NDArray[np.float64], least: int) -> Slots:
    """Return where the `least` highest values above 0 are, and all that equal the last of them."""
    positive = np.flatnonzero(values)
    if len(positive) <= least:
        return positive
    chosen = values[positive]
    last = np.partition(chosen, len(chosen) - least)[len(chosen) - least]
    highest: Slots = positive[chosen >= last]
    return highest
