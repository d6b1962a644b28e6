"""The direct search of one request: candidates from vectors, words and the task context, all scored in one way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from remembrancer.internal.v1 import tier_pb2
from remembrancer.model import ranking
from workers.index.lexical import Lexical, Matches
from workers.index.model import Model
from workers.index.table import Table, microseconds
from workers.index.turns import Turns
from workers.index.vectors import Vectors

Slots = NDArray[np.int64]

LEAST_CANDIDATES: Final = 256
"""Candidates each signal brings at least, so that the first hits do not depend on how many are wanted."""

CUE_CANDIDATES: Final = 64

DAY_US: Final = 86_400_000_000.0


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
        self._allowed = table.allowed(request.filter)
        alive, before, after = table.alive.values, turns.before, turns.after
        self._words = lexical.match(request.query.terms, alive, self._allowed, before, after)
        self._cue_words: Matches | None = None
        if request.cue.terms:
            self._cue_words = lexical.match(request.cue.terms, alive, self._allowed, before, after)
        self._named = table.speakers(list(request.speakers))

    def best(self, depth: int) -> list[tier_pb2.Candidate]:
        """Return the best `depth` candidates, by descending relevance, then by N."""
        return self._score(self._candidates(max(depth, LEAST_CANDIDATES)), depth)

    def of(self, ns: Iterable[int]) -> dict[int, tier_pb2.Candidate]:
        """Return the records named as candidates, by N; those unknown or not allowed are left out."""
        slots = [slot for n in ns if (slot := self._table.slots.get(n)) is not None]
        return {candidate.n: candidate for candidate in self._score(np.array(slots, np.int64))}

    def visible(self, n: int) -> bool:
        """Return whether memory N may be returned; never so for a procedure."""
        slot = self._table.slots.get(n)
        return slot is not None and bool(self._allowed[slot])

    def _score(self, slots: Slots, depth: int | None = None) -> list[tier_pb2.Candidate]:
        """Return the best `depth` (None = all) of the slots that are allowed, by descending relevance, then by N."""
        slots = np.unique(slots)
        slots = slots[self._allowed[slots]]
        if not len(slots):
            return []
        before, after = self._turns.before[slots], self._turns.after[slots]
        around = np.unique(np.concatenate((slots, before[before >= 0], after[after >= 0])))
        around = around[self._allowed[around]]
        own = np.zeros(len(self._allowed))
        cosine = np.zeros(len(self._allowed))
        cosine[around], own[around] = self._own(around)
        relevance = ranking.with_surroundings(
            own[slots],
            np.where(before >= 0, own[before], 0.0),
            np.where(after >= 0, own[after], 0.0),
            self._fits_cue(slots),
        )
        bonus = self._bonus(slots)
        ns = self._table.n.values[slots]
        lexical = self._words.alone[slots]
        return [
            tier_pb2.Candidate(
                n=int(ns[i]),
                relevance=float(relevance[i]),
                bonus=float(bonus[i]),
                cosine=float(cosine[slots[i]]),
                lexical=float(lexical[i]),
            )
            for i in np.lexsort((ns, -relevance))[:depth]
        ]

    def _candidates(self, least: int) -> Slots:
        found = [
            _highest(self._words.alone, least),
            _highest(self._words.paired, least),
        ]
        if self._query is not None:
            found.append(self._vectors.search(self._query, least, self._allowed))
        if self._cue is not None:
            found.append(self._vectors.search(self._cue, CUE_CANDIDATES, self._allowed))
        if self._cue_words is not None:
            found.append(_highest(self._cue_words.alone, CUE_CANDIDATES))
        return np.concatenate(found)

    def _own(self, slots: Slots) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        cosine = None if self._query is None else self._vectors.cosine(self._query, slots)
        own = ranking.relevance(
            cosine,
            self._vectors.embedded(slots),
            self._words.alone[slots],
            self._words.paired[slots],
            self._named[slots],
        )
        return np.zeros(len(slots)) if cosine is None else cosine, own

    def _fits_cue(self, slots: Slots) -> NDArray[np.float64]:
        fits = np.zeros(len(slots))
        if self._cue is not None:
            fits = np.maximum(fits, self._vectors.cosine(self._cue, slots))
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
    if not raw or request.model_id != model.id or len(raw) != 2 * model.dimension:
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
