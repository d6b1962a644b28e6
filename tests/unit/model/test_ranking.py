"""The relevance scale and the bonus."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.model import ranking

share = st.floats(0, 1)


def relevance(cosine: float | None, alone: float, paired: float, speaker: bool = False, embedded: bool = True) -> float:
    one = ranking.relevance(
        None if cosine is None else np.array([cosine]),
        np.array([embedded]),
        np.array([alone]),
        np.array([paired]),
        np.array([speaker]),
    )
    return float(one[0])


@given(st.floats(-1, 1), share, share, st.booleans(), st.booleans())
def test_relevance_stays_between_zero_and_one(
    cosine: float, alone: float, paired: float, speaker: bool, embedded: bool
) -> None:
    assert -1e-9 <= relevance(cosine, alone, paired, speaker, embedded) <= 1 + 1e-9
    assert -1e-9 <= relevance(None, alone, paired, speaker) <= 1 + 1e-9


@given(st.floats(-1, 1), share, share, st.floats(0, 0.2))
def test_more_of_any_signal_is_never_worse(cosine: float, alone: float, paired: float, more: float) -> None:
    base = relevance(cosine, alone, paired) - 1e-9
    assert relevance(min(1.0, cosine + more), alone, paired) >= base
    assert relevance(cosine, min(1.0, alone + more), paired) >= base
    assert relevance(cosine, alone, min(1.0, paired + more)) >= base
    assert relevance(cosine, alone, paired, speaker=True) >= base


def test_the_ends_of_the_scale() -> None:
    assert relevance(1.0, 1.0, 1.0) > 0.99
    assert relevance(1.0, 0.6, 0.4) > 0.97
    assert relevance(0.1, 0.0, 0.0) < 0.06
    assert relevance(None, 1.0, 1.0) > 0.9
    assert relevance(None, 0.0, 0.0, speaker=True) == 0


def test_a_text_without_vector_counts_by_its_words() -> None:
    assert relevance(0.0, 0.9, 0.9, embedded=False) > relevance(0.0, 0.2, 0.2)


def test_neighbours_and_cue_lend_only_a_share_of_what_is_missing() -> None:
    own = np.array([0.0, 0.5, 1.0])
    nothing, everything = np.zeros(3), np.ones(3)
    lent = ranking.with_surroundings(own, everything, everything, everything, everything > 0)
    assert (ranking.with_surroundings(own, nothing, nothing, nothing, nothing > 0) == own).all()
    assert lent[0] < 0.3
    assert lent[2] == 1


def test_one_harm_outweighs_one_help_and_strength_is_bounded() -> None:
    helped = np.array([0, 1, 1, 0, 1000], np.int32)
    harmed = np.array([0, 0, 1, 1, 0], np.int32)
    none, one, mixed, harm, many = ranking.strength(helped, harmed)
    assert none == 0.5
    assert harm < mixed < none < one < many < 1
    assert harm > 0


def test_recency_decays_slowly_and_never_for_uncertain_times() -> None:
    certain = np.zeros(5, np.bool_)
    today, quarter, years, ages, later = ranking.recency(np.array([0.0, 90.0, 3650.0, 1e6, -1.0]), certain)
    assert today == 1
    assert quarter == pytest.approx(0.5)
    assert quarter > years > ages >= later > 0
    assert ranking.recency(np.array([0.0]), np.ones(1, np.bool_))[0] == 0


def test_the_bonus_stays_between_zero_and_one() -> None:
    ends = ranking.bonus(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert ends.tolist() == [0.0, 1.0]
