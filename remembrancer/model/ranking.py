"""How well a memory fits a query: `relevance`, 0..1 on an absolute scale, and the `bonus` beside it.

Relevance is a weighted sum of signals that mean the same on any store, never of ranks or of scores stretched over the
list at hand: a lone weak hit stays low, an off-topic query scores low everywhere, identical text scores about 1.

Provenance of the weights, version 1: set by hand, in round figures. The proportions follow published hybrid retrieval
practice and measurements on human chats (a small sentence encoder carries about half, words the other half, split
between a text and its pair with the turn before). Checked on development conversations, fitted on none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

DECIMALS: Final = 4
"""Scores are rounded to this before they are compared; what is equal then is ordered by N."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Shares of the signals in the relevance; those of a text's own signals add up to 1."""

    version: int = 1
    cosine: float = 0.55
    """Of the best window with the query."""
    alone: float = 0.20
    """BM25 share of the text itself."""
    paired: float = 0.20
    """BM25 share of the text together with the turn before."""
    speaker: float = 0.05
    """The query names the text's speaker."""
    before: float = 0.10
    """Of what is missing to 1: how far the turn before fits."""
    after: float = 0.05
    """Of what is missing to 1: how far the turn after fits."""
    cue: float = 0.05
    """Of what is missing to 1: how far the text fits the task context."""
    near: float = 0.80
    """Cosine from which a text says the same as the query; from there relevance rises towards 1."""
    same: float = 0.95
    """Of what is missing to 1: what a text gains whose cosine is 1; the rest keeps the other signals' order."""
    unembedded: float = 0.80
    """Of the words' evidence, when there is a query vector but the text has none yet."""


WEIGHTS: Final = Weights()

RECENT_DAYS: Final = 90.0
"""Age at which half of the recency is gone; it goes slowly and never wholly."""

RECENCY_FLOOR: Final = 0.02
"""Recency of a memory from after `as_of`: not favoured, but still dated."""

LEARNED_SHARE: Final = 0.6
"""Of the bonus: what feedback taught; the rest is recency."""

HARM: Final = 2.0
"""One use that harmed outweighs one that helped."""


def relevance(
    cosine: Values | None, embedded: NDArray[np.bool_], alone: Values, paired: Values, speaker: NDArray[np.bool_]
) -> Values:
    """Return the relevance, 0..1, of texts by their own signals.

    `cosine` is None when the query has no vector: then words alone decide, on the same scale. `alone` and `paired` are
    0..1; `speaker` says whether the query names the text's speaker.
    """
    w = WEIGHTS
    words = (w.alone * alone + w.paired * paired) / (w.alone + w.paired)
    named = w.speaker * speaker
    by_words = (1 - w.speaker) * words + named * (words > 0)
    if cosine is None:
        return by_words
    own = w.cosine * np.maximum(cosine, 0.0) + (w.alone + w.paired) * words + named
    near = w.same * np.clip((cosine - w.near) / (1 - w.near), 0.0, 1.0)
    return np.where(embedded, raised(own, near), w.unembedded * by_words)


def raised(value: Values, *shares: Values) -> Values:
    """Return `value` moved towards 1 by shares of what is missing, 0..1 each."""
    missing = 1 - value
    for share in shares:
        missing = missing * (1 - share)
    return 1 - missing


def with_surroundings(own: Values, before: Values, after: Values, cue: Values) -> Values:
    """Return the relevance with what the turns before and after and the task context lend, rounded to compare."""
    w = WEIGHTS
    return np.round(raised(own, w.before * before, w.after * after, w.cue * np.maximum(cue, 0.0)), DECIMALS)


def strength(helped: NDArray[np.int32], harmed: NDArray[np.int32]) -> Values:
    """Return what feedback taught, 0..1; .5 without any. Bounded: it nears its ends and never reaches them."""
    harm = HARM * harmed
    return 0.5 + 0.5 * (helped - harm) / (helped + harm + 2.0)


def recency(age_days: Values, uncertain: NDArray[np.bool_]) -> Values:
    """Return 0..1 by age against `as_of`, negative for later ones; 0 where the time is uncertain."""
    fresh = 1 / (1 + np.maximum(age_days, 0.0) / RECENT_DAYS)
    return np.where(uncertain, 0.0, np.maximum(np.where(age_days < 0, 0.0, fresh), RECENCY_FLOOR))


def bonus(learned: Values, recent: Values) -> Values:
    """Return the bonus, 0..1, rounded. It never lets a memory in; it orders those that are."""
    return np.round(LEARNED_SHARE * learned + (1 - LEARNED_SHARE) * recent, DECIMALS)
