"""Fits the two parts of the probable answer's model: which option, and how sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from scipy.optimize import minimize

from bench.answer_examples import WEIGHTS, Example
from remembrancer.model.probable_answer import option_shares, sureness_features
from remembrancer.model.probable_answer_coefficients import Coefficients
from remembrancer.model.probable_answer_features import (
    CONSIDERED,
    HIT_FEATURES,
    LIST_FEATURES,
    Features,
    Values,
    features,
)

PENALTY: Final = 10.0
"""Of the squared weights of standardised features. 3 and 30 fit held-out conversations equally well."""

SURENESS_PENALTY: Final = 5.0

AT_LEAST: Final[Mapping[str, float]] = MappingProxyType({"above": 0.0, "newest": 1.5, "oldest": 1.5, "inside": 0.25})
"""Lower bounds of weights. That newer, older and dated memories are preferred is what a probable answer promises; few
questions of a chat turn on it, so the fit may only make these preferences stronger. (Relevance knows dates, too.)"""


@dataclass(frozen=True, slots=True)
class Design:
    """Examples as arrays; an absent option is all zeros.

    `hits`: (n, CONSIDERED, HIT_FEATURES); `there`, `right`: (n, CONSIDERED); `whole`: (n, LIST_FEATURES).
    """

    seen: Sequence[Features]
    hits: Values
    there: np.ndarray
    right: np.ndarray
    whole: Values
    weights: Values

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Design:
        """Return the design of examples."""
        seen = [features(example.question, example.options) for example in examples]
        hits = np.zeros((len(examples), CONSIDERED, len(HIT_FEATURES)))
        there = np.zeros((len(examples), CONSIDERED), bool)
        right = np.zeros((len(examples), CONSIDERED), bool)
        for i, (example, found) in enumerate(zip(examples, seen, strict=True)):
            count = len(example.options)
            hits[i, :count], there[i, :count], right[i, :count] = found.hits, True, example.right
        return cls(
            seen=seen,
            hits=hits,
            there=there,
            right=right,
            whole=np.stack([found.whole for found in seen]),
            weights=np.array([WEIGHTS[example.kind] for example in examples]),
        )

    def part(self, chosen: np.ndarray) -> Design:
        """Return the examples where `chosen` is true."""
        return Design(
            [found for found, keep in zip(self.seen, chosen, strict=True) if keep],
            self.hits[chosen],
            self.there[chosen],
            self.right[chosen],
            self.whole[chosen],
            self.weights[chosen],
        )


def fit_choice(design: Design) -> tuple[Values, Values]:
    """Return the weights of hits and of none-of-these that make the right options most likely, penalised.

    Where several options are right their probabilities add up; where none is, none-of-these is right.
    """
    scale = np.concatenate((_spread(design.hits[design.there]), _spread(design.whole)))
    least = np.array([AT_LEAST.get(name, -np.inf) for name in (*HIT_FEATURES, *LIST_FEATURES)]) * scale
    centre = np.where(np.isfinite(least), least, 0.0)
    penalty = np.array([*[PENALTY] * len(HIT_FEATURES), *[0.0 if n == "constant" else PENALTY for n in LIST_FEATURES]])
    hits, whole = design.hits / scale[: len(HIT_FEATURES)], design.whole / scale[len(HIT_FEATURES) :]
    answered = design.right.any(axis=1)

    def loss(weights: Values) -> tuple[float, Values]:
        chosen = _probabilities(hits, design.there, whole, weights)
        target = np.column_stack((chosen[:, :-1] * design.right, np.where(answered, 0.0, chosen[:, -1])))
        likely = np.maximum(target.sum(axis=1), 1e-12)
        error = (chosen - target / likely[:, None]) * design.weights[:, None]
        gradient = np.concatenate((np.einsum("nk,nkf->f", error[:, :-1], hits), error[:, -1] @ whole))
        away = weights - centre
        return float(
            -(design.weights * np.log(likely)).sum() + (penalty * away**2).sum() / 2
        ), gradient + penalty * away

    bounds = [(low if np.isfinite(low) else None, None) for low in least]
    found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 5000})
    weights = found.x / scale
    return weights[: len(HIT_FEATURES)], weights[len(HIT_FEATURES) :]


def fit_sureness(design: Design, choices: Sequence[tuple[Values, int, bool]]) -> Values:
    """Return the weights of a logistic model of whether the choice is right; `choices` are of held-out examples."""
    rows = np.stack([sureness_features(seen, s, i) for seen, (s, i, _) in zip(design.seen, choices, strict=True)])
    events = np.array([right for _, _, right in choices], float)

    def loss(weights: Values) -> tuple[float, Values]:
        z = rows @ weights
        kept = np.array([0.0, *weights[1:]])
        away = kept - np.array([0.0, 1.0, *[0.0] * (len(weights) - 2)])
        gradient = rows.T @ (design.weights * (1 / (1 + np.exp(-z)) - events)) + SURENESS_PENALTY * away
        cost = (design.weights * (np.logaddexp(0, z) - events * z)).sum() + SURENESS_PENALTY * (away**2).sum() / 2
        return float(cost), gradient

    start = np.array([0.0, 1.0, *[0.0] * (rows.shape[1] - 2)])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def choices(design: Design, hits: Values, none: Values) -> list[tuple[Values, int, bool]]:
    """Return for each example the shares of its options, the option of the highest share, and whether it is right."""
    coefficients = Coefficients(hits, none, np.zeros(0), 0.0)
    found = []
    for seen, right in zip(design.seen, design.right, strict=True):
        shares = option_shares(seen, coefficients)
        best = int(shares.argmax())
        found.append((shares, best, bool(right[best])))
    return found


def _probabilities(hits: Values, there: np.ndarray, whole: Values, weights: Values) -> Values:
    """Return (n, CONSIDERED + 1) probabilities, none-of-these last."""
    of_hits = np.where(there, hits @ weights[: hits.shape[2]], -np.inf)
    utilities = np.column_stack((of_hits, whole @ weights[hits.shape[2] :]))
    powers = np.exp(utilities - utilities.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _spread(rows: Values) -> Values:
    """Return standard deviations, 1 for a constant."""
    deviation = rows.std(axis=0)
    return np.asarray(np.where(deviation > 1e-9, deviation, 1.0))
