"""One partition as a tier holds it: record metadata, vectors and words, and the direct search over them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.analysis import date_terms
from remembrancer.store.reader import StoredRecord
from workers.index.lexical import Lexical
from workers.index.model import Model
from workers.index.procedures import Procedures
from workers.index.recent import newest
from workers.index.scoring import Scorer
from workers.index.table import Table
from workers.index.turns import Turns
from workers.index.vectors import Vectors

COMPACT_DEAD: Final = 1000
"""Dead slots from which compacting is worth its while, when they are a quarter of all."""

FINGERPRINT_BYTES: Final = 100
"""About the size of one N with its fingerprint."""


@dataclass(frozen=True, slots=True)
class DirectResult:
    """What the direct search found.

    `candidates` by descending score (rounded to 1e-4), then by N; `any_live`: whether the partition holds live
    records at all, whatever the filter; `words_only`: whether it searched without the query's vector.
    """

    candidates: list[tier_pb2.Candidate]
    any_live: bool
    words_only: bool = False


class PartitionIndex:
    """Vectors, words and metadata of one partition.

    Searches and `apply` take `lock` themselves; hold it (it is reentrant) around several calls that must see one state.
    """

    def __init__(self, model: Model, eight_bit: bool = False) -> None:
        """Make an empty index for the vectors of `model`, kept as float16 or in 8 bits."""
        self.model = model
        self.lock = threading.RLock()
        self._table = Table()
        self._vectors = Vectors(model.dimension, eight_bit)
        self._lexical = Lexical()
        self._turns = Turns()
        self._procedures = Procedures()
        self._fingerprints: dict[int, int] = {}

    def apply(self, stored: StoredRecord) -> None:
        """Take over the current state of one record; idempotent, in any order."""
        with self.lock:
            fingerprint = _fingerprint(stored)
            if fingerprint != self._fingerprints.get(stored.n):
                self._remove(stored.n)
                if stored.record is not None:
                    self._add(stored, stored.record)
                    self._fingerprints[stored.n] = fingerprint
                self._compact()
            if stored.record is not None:
                self._table.learn(self._table.slots[stored.n], stored.learned)

    def size_bytes(self) -> int:
        """Return about how much memory this holds; at any time, without `lock`."""
        parts = (self._table, self._vectors, self._lexical, self._turns, self._procedures)
        return sum(part.nbytes() for part in parts) + FINGERPRINT_BYTES * len(self._fingerprints)

    def any_live(self) -> bool:
        """Return whether the partition holds live records at all."""
        with self.lock:
            return self._table.any_live()

    def search(self, request: tier_pb2.SearchRequest) -> DirectResult:
        """Return the best `request.depth` memories that the filter allows."""
        with self.lock:
            if request.recent:
                return DirectResult(newest(self._table, request), self._table.any_live())
            scorer = self.scorer(request)
            return DirectResult(scorer.best(request.depth), self._table.any_live(), scorer.words_only)

    def procedures(self, request: tier_pb2.SearchRequest) -> list[tier_pb2.ProcedureCandidate]:
        """Return the best `request.procedures` procedures that fit."""
        with self.lock:
            return self._procedures.search(request, self._table, self._vectors, self._lexical, self.model)

    def scorer(self, request: tier_pb2.SearchRequest) -> Scorer:
        """Return what scores memories for a request; make and use it while `lock` is held."""
        return Scorer(request, self._table, self._vectors, self._lexical, self._turns, self.model)

    def _add(self, stored: StoredRecord, record: store_pb2.Record) -> None:
        slot = self._table.add(stored.n, record)
        self._vectors.add(stored.vectors)
        # A turn was analysed as `name: content`, so that its speaker's name is among its terms.
        self._lexical.add(record.analysis.terms, _date_terms(record))
        self._turns.add(slot, stored.n, record)
        if record.kind == store_pb2.RECORD_KIND_PROCEDURE:
            self._procedures.add(stored.n, record.procedure)

    def _remove(self, n: int) -> None:
        slot = self._table.slots.get(n)
        if slot is None:
            return
        self._table.kill(n)
        self._lexical.remove(slot)
        self._turns.remove(slot)
        self._procedures.remove(n)
        del self._fingerprints[n]

    def _compact(self) -> None:
        dead = len(self._table) - len(self._table.slots)
        if dead < COMPACT_DEAD or 4 * dead < len(self._table):
            return
        alive = self._table.alive.values.copy()
        for part in (self._turns, self._vectors, self._lexical, self._table):
            part.keep(alive)


def _fingerprint(stored: StoredRecord) -> int:
    """Return what differs when anything but the learned part of a record differs; 0 for an erased one."""
    if stored.record is None:
        return 0
    vectors = b"" if stored.vectors is None else stored.vectors.tobytes()
    return hash((stored.record.SerializeToString(deterministic=True), vectors))


def _date_terms(record: store_pb2.Record) -> list[str]:
    """Return the index terms of a record's date, when that is known."""
    if not record.HasField("occurred_at") or record.time_uncertain:
        return []
    return date_terms(record.occurred_at.ToDatetime())
