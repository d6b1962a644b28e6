"""How honest probabilities are, on answers whose figures are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.calibration import calibration, expected_calibration_error
from bench.conversation_run import Asked
from bench.dataset import Question

QUESTION = Question("q", "?", "c", frozenset({"right"}))


def asked(chosen: str | None, probability: float | None, *, answerable: bool = True) -> Asked:
    return Asked(QUESTION, [], answerable, chosen, probability)


def test_known_figures() -> None:
    result = calibration(
        [
            asked("right", 0.9),
            asked("wrong", 0.3),
            asked(None, None),
            asked("wrong", 0.3, answerable=False),
            asked(None, None, answerable=False),
            asked(None, None, answerable=False),
        ]
    )
    assert result == {
        "brier": round((0.1**2 + 0.3**2 + 0.3**2) / 3, 4),
        "ece": round(1 / 3 * 0.1 + 2 / 3 * 0.3, 4),
        "base_brier": round(1 / 3 * 2 / 3, 4),
        "choice_accuracy": 0.5,
        "none_accuracy": round(4 / 6, 4),
        "base_rate": round(1 / 3, 4),
        "answered": round(2 / 3, 4),
        "answered_in_vain": round(1 / 3, 4),
        "asked": 6,
    }


def test_without_any_answer_there_is_nothing_to_judge() -> None:
    result = calibration([asked(None, None)])
    assert [result[name] for name in ("brier", "ece", "base_brier", "choice_accuracy")] == [None] * 4
    assert result["none_accuracy"] == 0


def test_the_highest_probability_falls_into_the_last_bin() -> None:
    assert expected_calibration_error(np.array([1.0, 0.95]), np.array([1.0, 1.0])) == pytest.approx(0.025)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1))
def test_the_error_is_a_share_and_none_when_every_bin_is_right(found: list[tuple[float, bool]]) -> None:
    probabilities = np.array([p for p, _ in found])
    events = np.array([event for _, event in found], float)
    assert 0 <= expected_calibration_error(probabilities, events) <= 1
    assert expected_calibration_error(events, events) == 0
