"""One partition as a tier holds it: record metadata, vectors and words, and the direct search over them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from remembrancer.internal.v1 import tier_pb2
from remembrancer.store.reader import StoredRecord
from workers.index.model import Model


@dataclass(frozen=True, slots=True)
class DirectResult:
    """What the direct search found.

    `candidates` by descending relevance (rounded to 1e-4), then by N; `any_live`: whether the partition holds live
    memories at all, whatever the filter.
    """

    candidates: list[tier_pb2.Candidate]
    any_live: bool


class PartitionIndex:
    """Vectors, words and metadata of one partition.

    Every public method takes `lock` itself; hold it (it is reentrant) around several calls that must see one state.
    """

    def __init__(self, model: Model, eight_bit: bool = False) -> None:
        """Make an empty index for the vectors of `model`, kept as float16 or in 8 bits."""
        self.model = model
        self.lock = threading.RLock()
        self._eight_bit = eight_bit

    @property
    def damaged(self) -> int:
        """How many records have a stored vector that could not be used; they are found by words."""
        raise NotImplementedError

    def apply(self, stored: StoredRecord) -> None:
        """Take over the current state of one record; idempotent, in any order."""
        raise NotImplementedError

    def size_bytes(self) -> int:
        """Return about how much memory this holds."""
        raise NotImplementedError

    def search(self, request: tier_pb2.SearchRequest) -> DirectResult:
        """Return the best `request.depth` memories that the filter allows."""
        raise NotImplementedError

    def relevance_of(self, request: tier_pb2.SearchRequest, ns: Iterable[int]) -> dict[int, tier_pb2.Candidate]:
        """Score the records named as the direct search would; those unknown or not allowed are left out."""
        raise NotImplementedError

    def procedures(self, request: tier_pb2.SearchRequest) -> list[tier_pb2.ProcedureCandidate]:
        """Return the best `request.procedures` procedures that fit."""
        raise NotImplementedError

    def visible(self, filter_: tier_pb2.Filter) -> Callable[[int], bool]:
        """Return what says whether memory N may be returned (never a procedure); use it while `lock` is held."""
        raise NotImplementedError
