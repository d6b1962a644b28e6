"""How honest the probabilities of probable answers are.

Event: the chosen hit is one of the question's relevant turns. Every question is asked twice, with its relevant turns in
the store and without; without them the event cannot happen. Probabilities are judged where one was given; that no
memory answers comes without a probability and is judged by `none_accuracy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from bench.conversation_run import Asked

BINS = 10
DIGITS = 4


def calibration(asked: Sequence[Asked]) -> dict[str, float | int | None]:
    """Return the figures; None where nothing could be measured.

    `brier` (Brier 1950), and `base_brier` of always saying the event's rate; `ece` (Naeini et al. 2015) over ten bins
    of equal width; `choice_accuracy`: of the answers given while the relevant turns were there, how many named one;
    `none_accuracy`: of all questions, how many were answered with the turns there and refused without;
    `answered` and `answered_in_vain`: shares of the questions with and without their turns that got an answer.
    """
    given = [(a.probability, a.chosen in a.question.relevant) for a in asked if a.probability is not None]
    with_turns = [a for a in asked if a.answerable]
    without = [a for a in asked if not a.answerable]
    probabilities = np.array([probability for probability, _ in given])
    events = np.array([event for _, event in given], float)
    rate = float(events.mean()) if len(given) else 0.0
    return {
        "brier": _rounded(np.mean((probabilities - events) ** 2)) if given else None,
        "ece": _rounded(expected_calibration_error(probabilities, events)) if given else None,
        "base_brier": _rounded(rate * (1 - rate)) if given else None,
        "choice_accuracy": _mean([a.chosen in a.question.relevant for a in with_turns if a.chosen is not None]),
        "none_accuracy": _mean([(a.chosen is not None) == a.answerable for a in asked]),
        "base_rate": _rounded(rate) if given else None,
        "answered": _mean([a.chosen is not None for a in with_turns]),
        "answered_in_vain": _mean([a.chosen is not None for a in without]),
        "asked": len(asked),
    }


def expected_calibration_error(probabilities: np.ndarray, events: np.ndarray, bins: int = BINS) -> float:
    """Return the mean distance of probability and rate over bins of equal width, weighted by how many fall in each."""
    places = np.minimum((probabilities * bins).astype(int), bins - 1)
    distances = (
        (places == place).mean() * abs(probabilities[places == place].mean() - events[places == place].mean())
        for place in np.unique(places)
    )
    return float(sum(distances))


def _mean(values: Sequence[bool]) -> float | None:
    return _rounded(fmean(values)) if values else None


def _rounded(value: float) -> float:
    return round(float(value), DIGITS)
