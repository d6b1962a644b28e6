"""Putting both tiers' candidates together on their one scale, and cutting them."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.internal.v1.tier_pb2 import Candidate
from remembrancer.model import fusion
from remembrancer.model.duplicates import NearDuplicates, Statement
from remembrancer.model.ranking import BONUS_SHARE
from remembrancer.v1.common_pb2 import TIER_ACTIVE, TIER_DEEP

share = st.floats(0, 1)
candidates = st.lists(
    st.builds(Candidate, n=st.integers(1, 30), relevance=share, bonus=share), max_size=20, unique_by=lambda c: c.n
)


def of(*relevances: float) -> list[fusion.Fused]:
    return fusion.fuse([(TIER_ACTIVE, [Candidate(n=n, relevance=r) for n, r in enumerate(relevances, 1)])])


def test_d21_the_same_memory_from_both_tiers_is_one_with_the_higher_relevance() -> None:
    (one,) = fusion.fuse(
        [(TIER_ACTIVE, [Candidate(n=1, relevance=0.4)]), (TIER_DEEP, [Candidate(n=1, relevance=0.41)])]
    )
    assert (one.relevance, one.found_by) == (0.41, [TIER_ACTIVE, TIER_DEEP])


@given(candidates, candidates)
def test_scores_are_whole_numbers_of_1e_4_within_a_bonus_of_5_percent(
    active: list[Candidate], deep: list[Candidate]
) -> None:
    fused = fusion.fuse([(TIER_ACTIVE, active), (TIER_DEEP, deep)])
    assert [(-c.score, c.n) for c in fused] == sorted((-c.score, c.n) for c in fused)
    for c in fused:
        assert 0 <= c.relevance <= 1
        assert c.relevance <= c.score <= c.relevance + BONUS_SHARE + 1e-4
        assert round(c.score, 4) == c.score
        assert not math.isnan(c.score)


@given(candidates, st.one_of(st.none(), share))
def test_d18_a_bonus_lets_nothing_in(found: list[Candidate], floor: float | None) -> None:
    fused = fusion.fuse([(TIER_DEEP, found)])
    assert all(floor is None or c.relevance >= floor for c in fusion.above(fused, floor))
    assert len(fusion.above(fused, None)) == len(found)


@given(st.lists(share, min_size=1), st.lists(share, min_size=1))
def test_d18_confidence_grows_with_the_best_hit_and_stays_below_one(one: list[float], other: list[float]) -> None:
    low, high = sorted((of(*one), of(*other)), key=lambda found: found[0].relevance)
    assert 0 <= fusion.confidence(low) <= fusion.confidence(high) < 1
    assert fusion.confidence([]) == 0
    assert fusion.confidence(of(0.0)) == 0


def test_d19_a_lone_weak_candidate_stays_weak() -> None:
    (alone,) = of(0.11)
    assert alone.relevance == of(0.9, 0.11)[1].relevance == 0.11


def test_d21_what_is_new_then_copies() -> None:
    texts = {1: 10, 2: 10, 3: 20, 4: 10, 5: 30}
    found = of(0.9, 0.8, 0.7, 0.6, 0.5)
    for top_k, expected in ((1, [1]), (3, [1, 3, 5]), (4, [1, 3, 5, 2]), (5, [1, 3, 5, 2, 4]), (9, [1, 3, 5, 2, 4])):
        seen = NearDuplicates[fusion.Fused]()
        shown, left = fusion.near_duplicates_last(found, top_k, seen, lambda n: Statement(texts[n], 0, None, None))
        assert [c.n for c in shown] == expected
        assert sorted(c.n for c in shown + left) == [1, 2, 3, 4, 5]


@given(candidates, st.sets(st.integers(1, 30)), st.one_of(st.none(), share))
def test_associated_are_at_most_ten_and_none_is_direct_too(
    found: list[Candidate], direct: set[int], floor: float | None
) -> None:
    seen = NearDuplicates[fusion.Fused]()
    seen.add_new(of(1.0)[0], Statement(0, 0, None, None))

    def statement(n: int) -> Statement:
        return Statement(n % 7 and n, 0, None, None)

    linked = fusion.associated(fusion.fuse([(TIER_DEEP, found)]), direct, floor, seen, statement)
    assert len(linked) <= 10
    assert all(c.n % 7 for c in linked)
    assert not {c.n for c in linked} & direct
    assert all(floor is None or c.relevance >= floor for c in linked)
