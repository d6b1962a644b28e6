"""The fitted numbers behind the probable answer: a small versioned file beside this module.

`python -m bench.fit_probable_answer` makes it from the project's own conversations; its `provenance` says which.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

import numpy as np

from remembrancer.model.probable_answer_features import HIT_FEATURES, LIST_FEATURES, Values

FILE: Final = "probable_answer.json"
VERSION: Final = 1

OF_THE_CHOSEN: Final = ("follows_question", "rare_terms", "newest")
"""Features of the chosen hit that also say how sure the choice is. A newest one is chosen on principle (see the lower
bounds in `bench.conditional_logit`), so that being chosen says less."""

SURENESS_FEATURES: Final = ("constant", "log_odds", *OF_THE_CHOSEN, "covered")
"""What says how sure the choice is: its own log odds, the chosen hit, and how much of the question the hits cover."""


class CoefficientsInvalid(Exception):
    """The file is not of this version; the message says how."""


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Weights, one per feature: `hits` give an option's utility, `none` (on the list's) that of none-of-these."""

    hits: Values
    none: Values
    sureness: Values
    threshold: float
    """Probability below which no memory is said to answer."""


def load() -> Coefficients:
    """Return the coefficients that come with the package. Errors: CoefficientsInvalid."""
    return parse(json.loads((resources.files(__package__) / FILE).read_text(encoding="utf-8")))


def parse(value: Mapping[str, object]) -> Coefficients:
    """Return coefficients from the file's content. Errors: CoefficientsInvalid."""
    if value.get("version") != VERSION:
        raise CoefficientsInvalid(f"version {value.get('version')}, not {VERSION}")
    threshold = value.get("threshold")
    if not isinstance(threshold, float) or not 0.0 <= threshold < 1.0:
        raise CoefficientsInvalid("threshold is no number from 0 to below 1")
    return Coefficients(
        hits=_weights(value, "hits", HIT_FEATURES),
        none=_weights(value, "none", LIST_FEATURES),
        sureness=_weights(value, "sureness", SURENESS_FEATURES),
        threshold=threshold,
    )


def _weights(value: Mapping[str, object], part: str, names: Sequence[str]) -> Values:
    found = value.get(part)
    if not isinstance(found, Mapping) or set(found) != set(names):
        raise CoefficientsInvalid(f"{part} are not the weights of {', '.join(names)}")
    weights = np.array([float(found[name]) for name in names])
    if not np.isfinite(weights).all():
        raise CoefficientsInvalid(f"{part} are not finite")
    return weights
