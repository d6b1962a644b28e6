"""Search among the procedures of a partition: apart from the memories, admitted by meaning or by a rare shared term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from google.protobuf import struct_pb2

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model import ranking
from workers.index.lexical import Lexical
from workers.index.model import Model
from workers.index.scoring import query_vector
from workers.index.table import Table
from workers.index.vectors import Vectors

LEAST_SIMILARITY: Final = 0.40
"""Similarity of goal, summary and steps with the query that admits a procedure."""

RARE_COUNT: Final = 3
RARE_SHARE: Final = 0.02
"""A term is rare when at most this many live texts, or this share of them, hold it."""

TALLY_WEIGHT: Final = 0.1
"""How far feedback moves a procedure in the order: by at most this, up or down."""


BODY_BYTES: Final = 200
"""About the size of one procedure's place here, its context apart."""


@dataclass(frozen=True, slots=True)
class _Body:
    context: struct_pb2.Struct
    key: str
    nbytes: int


class Procedures:
    """What the search needs of procedures beyond their text."""

    def __init__(self) -> None:
        """Start empty."""
        self._bodies: dict[int, _Body] = {}
        self._nbytes = 0

    def add(self, n: int, body: store_pb2.ProcedureBody) -> None:
        """Take in procedure N."""
        context = struct_pb2.Struct()
        context.CopyFrom(body.context)
        # A parsed context takes about twice the room of its bytes.
        self._bodies[n] = _Body(context, body.deduplication_key, BODY_BYTES + 2 * context.ByteSize())
        self._nbytes += self._bodies[n].nbytes

    def remove(self, n: int) -> None:
        """Let record N go, whatever it is."""
        body = self._bodies.pop(n, None)
        if body is not None:
            self._nbytes -= body.nbytes

    def nbytes(self) -> int:
        """Return about how much memory this holds."""
        return self._nbytes

    def search(
        self, request: tier_pb2.SearchRequest, table: Table, vectors: Vectors, lexical: Lexical, model: Model
    ) -> list[tier_pb2.ProcedureCandidate]:
        """Return the best `request.procedures` that fit, by relevance and feedback, then by N."""
        if not self._bodies or not request.procedures:
            return []
        allowed = table.procedures(request.filter)
        for slot in np.flatnonzero(allowed):
            allowed[slot] = agrees(request.task_context, self._bodies[int(table.n.values[slot])].context)
        slots = np.flatnonzero(allowed)
        if not len(slots):
            return []
        alive = table.alive.values
        alone = np.full(len(table), -1, np.int32)
        rarest = max(RARE_COUNT, int(RARE_SHARE * len(table.slots)))
        rare = [term for term in set(request.query.terms) if 0 < lexical.frequency(term, alive) <= rarest]
        words = lexical.match(request.query.terms, alive, allowed, alone, alone).alone[slots]
        shares_rare = lexical.match(rare, alive, allowed, alone, alone).alone[slots] > 0
        query = query_vector(request, request.query_vector, model)
        similar = None
        if query is not None:
            similar = ranking.similarity(vectors.cosine(query, slots), request.unrelated_cosine)
        nobody = np.zeros(len(slots), np.bool_)
        relevance = np.round(
            ranking.relevance(similar, vectors.embedded(slots), words, words, nobody), ranking.DECIMALS
        )
        admitted = shares_rare if similar is None else shares_rare | (similar >= LEAST_SIMILARITY)
        tally = 2 * ranking.strength(table.helped.values[slots], table.harmed.values[slots]) - 1
        rank = np.round(relevance + TALLY_WEIGHT * tally, ranking.DECIMALS)
        found: list[tier_pb2.ProcedureCandidate] = []
        keys: set[str] = set()
        for i in np.lexsort((table.n.values[slots], -rank)):
            n = int(table.n.values[slots[i]])
            key = self._bodies[n].key
            if admitted[i] and len(found) < request.procedures and not (key and key in keys):
                keys.add(key)
                found.append(tier_pb2.ProcedureCandidate(n=n, relevance=float(relevance[i])))
        return found


def agrees(task: struct_pb2.Struct, procedure: struct_pb2.Struct) -> bool:
    """Return whether the keys that both contexts have are equal; keys ending in `_id` say nothing about fitting."""
    shared = [key for key in procedure.fields if key in task.fields and not key.endswith("_id")]
    return all(task.fields[key] == procedure.fields[key] for key in shared)
