"""Which of the direct hits most probably answers the question, how probably, and whether none does.

A conditional logit model (McFadden 1974) with none-of-these as one more option chooses; a logistic calibration (Platt
1999) of its odds, fitted on choices that it had not seen, says how sure that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from remembrancer.model.probable_answer_coefficients import OF_THE_CHOSEN, Coefficients
from remembrancer.model.probable_answer_features import HIT_FEATURES, Features, Option, Question, Values, features
from remembrancer.model.ranking import DECIMALS

ALTERNATIVES: Final = 2
LEAST: Final = 10**-DECIMALS
"""Probabilities are rounded to this before they are ordered; what is below is no alternative."""

KEPT: Final = 1 - 1e-9
"""Of what the chosen option leaves: keeps the sum at most 1 whatever binary fractions do."""

MOST: Final = 0.99
"""No choice by these features is surer."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An option and the probability, 0..1, that it holds the answer."""

    n: int
    probability: float


def choose(question: Question, options: Sequence[Option], coefficients: Coefficients) -> list[Choice]:
    """Return the chosen option and up to two alternatives by descending probability, or nothing when none answers.

    `options` are those that `considered` returned, 0..10. The probabilities add up to at most 1; those of the
    alternatives are what the chosen one leaves, shared as the model shares it, and never above it.
    """
    if not options:
        return []
    seen = features(question, options)
    shares = option_shares(seen, coefficients)
    best = min(range(len(options)), key=lambda i: (-round(float(shares[i]), DECIMALS), options[i].n))
    probability = sureness(seen, shares, best, coefficients)
    if probability < coefficients.threshold:
        return []
    chosen = round(min(MOST, max(LEAST, probability)), DECIMALS)
    left = (1 - chosen) * KEPT / max(1 - float(shares[best]), LEAST)
    others = [
        Choice(option.n, min(chosen, _rounded_down(left * float(share))))
        for i, (option, share) in enumerate(zip(options, shares, strict=True))
        if i != best
    ]
    others.sort(key=lambda choice: (-choice.probability, choice.n))
    return [Choice(options[best].n, chosen), *(c for c in others[:ALTERNATIVES] if c.probability >= LEAST)]


def option_shares(seen: Features, coefficients: Coefficients) -> Values:
    """Return the model's probability of each option, (options,); what they lack to 1 is that of none-of-these."""
    utilities = np.append(seen.hits @ coefficients.hits, seen.whole @ coefficients.none)
    powers = np.exp(utilities - utilities.max())
    return np.asarray(powers[:-1] / powers.sum())


def sureness(seen: Features, shares: Values, chosen: int, coefficients: Coefficients) -> float:
    """Return the calibrated probability, 0..1, that the chosen option holds the answer."""
    return float(1 / (1 + np.exp(-sureness_features(seen, shares, chosen) @ coefficients.sureness)))


def sureness_features(seen: Features, shares: Values, chosen: int) -> Values:
    """Return the features of SURENESS_FEATURES for a choice."""
    share = float(np.clip(shares[chosen], LEAST, 1 - LEAST))
    row = seen.hits[chosen]
    chosen_row = [row[HIT_FEATURES.index(name)] for name in OF_THE_CHOSEN]
    return np.array([1.0, np.log(share / (1 - share)), *chosen_row, seen.covered])


def _rounded_down(value: float) -> float:
    return round(float(np.floor(value / LEAST)) * LEAST, DECIMALS)
