"""Puts the candidates of both tiers together on their common absolute scale, and cuts them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from remembrancer.internal.v1 import tier_pb2
from remembrancer.model.duplicates import NearDuplicates, Statement
from remembrancer.model.ranking import BONUS_SHARE, DECIMALS
from remembrancer.v1 import common_pb2

RELEVANCE_FLOOR: Final = 0.3
"""Relevance below which a memory does not count as being about the query at all.

Measured with `python -m bench.relevance` (weights version 2, all-MiniLM-L6-v2): the best hit of 38 off-topic questions,
some of which share words with the store, has at most .19, .28 and .29 in stores of 1, 60 and 3000 statements; of 60
questions that a statement answers in other words 15 % fall below. multilingual-e5-small: .19, .28, .29, and 23 %. In
stores of chat, where turns are short and touch on much, 6 % of the off-topic questions get above, by a shared word of
some turn, .42 at most; 31 % of those that a turn answers fall below.
"""

ASSOCIATED_MAX: Final = 10


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
        """Relevance plus the bonus, which is at most .05; see `ranking.score`."""
        return round(self.relevance + BONUS_SHARE * min(1.0, max(0.0, self.bonus)), DECIMALS)


def fuse(by_tier: Iterable[tuple[common_pb2.Tier.ValueType, Iterable[tier_pb2.Candidate]]]) -> list[Fused]:
    """Return each candidate once, by descending score, then by N. The tiers share one scale: the higher counts."""
    found: dict[int, Fused] = {}
    for tier, candidates in by_tier:
        for candidate in candidates:
            relevance = round(min(1.0, max(0.0, candidate.relevance)), DECIMALS)
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
    return by_score(found.values())


def by_score(candidates: Iterable[Fused]) -> list[Fused]:
    """Return candidates by descending score, then by N."""
    return sorted(candidates, key=lambda c: (-c.score, c.n))


def above(candidates: Iterable[Fused], floor: float | None) -> list[Fused]:
    """Return those whose relevance is at least `floor`; a bonus never lets something in."""
    return [c for c in candidates if floor is None or c.relevance >= floor]


def near_duplicates_last(
    candidates: Iterable[Fused], top_k: int, seen: NearDuplicates[Fused], statement: Callable[[int], Statement]
) -> tuple[list[Fused], list[Fused]]:
    """Return the `top_k` that are shown and those that are not, near-duplicates behind all others.

    Of several copies the newest is in front, in the place of the best. `seen` is new, `statement` gives that of N.
    """
    for candidate in candidates:
        seen.take(candidate, statement(candidate.n), top_k)
    both = seen.new + seen.copies
    return both[:top_k], [*both[top_k:], *seen.left]


def associated(
    candidates: Iterable[Fused],
    direct: Collection[int],
    floor: float | None,
    seen: NearDuplicates[Fused],
    statement: Callable[[int], Statement],
) -> list[Fused]:
    """Return up to ten associated memories that are not among the direct ones, without copies of any that is shown.

    `seen` is that of `near_duplicates_last`.
    """
    apart = (c for c in above(by_score(candidates), floor) if c.n not in direct)
    return list(islice((c for c in apart if seen.add_new(c, statement(c.n))), ASSOCIATED_MAX))


def confidence(candidates: Sequence[Fused]) -> float:
    """Return a number from 0 (nothing found) to below 1 that grows with the best relevance."""
    best = max((c.relevance for c in candidates), default=0.0)
    return round(best / (best + 0.25), DECIMALS)
