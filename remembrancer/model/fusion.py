"""Puts the candidates of both tiers together on their common absolute scale, and cuts them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from remembrancer.internal.v1 import tier_pb2
from remembrancer.v1 import common_pb2

BONUS_SHARE: Final = 0.05
"""The most that learned strength and recency add to a score."""

NEAR_DUPLICATE: Final = 0.97
"""Cosine from which two memories say the same."""

RELEVANCE_FLOOR: Final = 0.3
"""Relevance below which a memory does not count as being about the query at all."""

ASSOCIATED_MAX: Final = 10
DIGITS: Final = 4


@dataclass(slots=True)
class Fused:
    """One memory that at least one tier found; `relevance` and `score` are rounded to 1e-4.

    `lexical` is the share of the query's words that it has.
    """

    n: int
    relevance: float
    bonus: float
    found_by: list[common_pb2.Tier.ValueType]
    path: Sequence[tier_pb2.PathStep] = field(default_factory=list)
    lexical: float = 0.0

    @property
    def score(self) -> float:
        """Relevance plus the bonus, which is at most .05."""
        return round(min(1.0, self.relevance + BONUS_SHARE * min(1.0, max(0.0, self.bonus))), DIGITS)


def fuse(by_tier: Iterable[tuple[common_pb2.Tier.ValueType, Iterable[tier_pb2.Candidate]]]) -> list[Fused]:
    """Return each candidate once, by descending relevance, then by N. The tiers share one scale: the higher counts."""
    found: dict[int, Fused] = {}
    for tier, candidates in by_tier:
        for candidate in candidates:
            relevance = round(min(1.0, max(0.0, candidate.relevance)), DIGITS)
            known = found.get(candidate.n)
            if known is None:
                found[candidate.n] = Fused(
                    candidate.n, relevance, candidate.bonus, [tier], list(candidate.path), candidate.lexical
                )
                continue
            known.relevance = max(known.relevance, relevance)
            known.bonus = max(known.bonus, candidate.bonus)
            known.lexical = max(known.lexical, candidate.lexical)
            known.found_by.append(tier)
    return by_relevance(found.values())


def by_relevance(candidates: Iterable[Fused]) -> list[Fused]:
    """Return candidates by descending relevance, then by N."""
    return sorted(candidates, key=lambda c: (-c.relevance, c.n))


def by_score(candidates: Iterable[Fused]) -> list[Fused]:
    """Return candidates by descending score, then by N: the order in which they are shown."""
    return sorted(candidates, key=lambda c: (-c.score, c.n))


def above(candidates: Iterable[Fused], floor: float | None) -> list[Fused]:
    """Return those whose relevance is at least `floor`; a bonus never lets something in."""
    return [c for c in candidates if floor is None or c.relevance >= floor]


def duplicates_last(
    candidates: Sequence[Fused], folded: Callable[[int], str], vectors: Callable[[int], NDArray[np.float32] | None]
) -> list[Fused]:
    """Return the candidates with near-duplicates of a better one behind all others, both parts in order.

    Near-duplicates have the same folded text, or one-window vectors with a cosine of at least .97.
    """
    first: list[Fused] = []
    last: list[Fused] = []
    texts: set[str] = set()
    kept: NDArray[np.float32] | None = None
    count = 0
    for candidate in candidates:
        text, vector = folded(candidate.n), vectors(candidate.n)
        single = vector[0] if vector is not None and len(vector) == 1 else None
        near = single is not None and kept is not None and bool((kept[:count] @ single >= NEAR_DUPLICATE).any())
        if text in texts or near:
            last.append(candidate)
            continue
        first.append(candidate)
        texts.add(text)
        if single is not None:
            if kept is None:
                kept = np.empty((len(candidates), len(single)), np.float32)
            kept[count] = single
            count += 1
    return first + last


def associated(candidates: Iterable[Fused], direct: Collection[int], floor: float | None) -> list[Fused]:
    """Return up to ten associated memories that are not among the direct ones."""
    return [c for c in above(by_relevance(candidates), floor) if c.n not in direct][:ASSOCIATED_MAX]


def confidence(candidates: Sequence[Fused]) -> float:
    """Return a number from 0 (nothing found) to below 1 that grows with the best relevance."""
    best = max((c.relevance for c in candidates), default=0.0)
    return round(best / (best + 0.25), DIGITS)
