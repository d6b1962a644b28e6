"""How well a memory fits a query: `relevance`, 0..1 on an absolute scale, and the `bonus` beside it.

Relevance is a weighted sum of signals that mean the same on any store, never of ranks or of scores stretched over the
list at hand: a lone weak hit stays low, an off-topic query scores low everywhere, identical text scores about 1.

Provenance of the weights, version 2: set by hand, in round figures. The proportions follow published hybrid retrieval
practice and measurements on human chats (a small sentence encoder carries about half, words the other half, split
between a text and its pair with the turn before). What tells off-topic texts from others (`coverage`, the floor in
`fusion`) is measured by `python -m bench.relevance` on this project's own statements. Checked on development
conversations, fitted on none.
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

    cosine: float = 0.55
    """Similarity of the best window with the query."""
    alone: float = 0.20
    """BM25 share of the text itself."""
    paired: float = 0.20
    """BM25 share of the text together with the turn before."""
    coverage: float = 1.5
    """Exponent of the BM25 shares: a text that has one of several words fits by less than that word's share."""
    timed: float = 0.5
    """Of what is missing to a BM25 share of 1: how far a text that shares words with the query has its time words."""
    speaker: float = 0.05
    """The query names the text's speaker."""
    before: float = 0.10
    """Of what is missing to 1: how far the turn before fits."""
    after: float = 0.05
    """Of what is missing to 1: how far the turn after fits."""
    cue: float = 0.05
    """Of what is missing to 1: how far the text fits the task context."""
    dated: float = 0.10
    """Of what is missing to 1: the text's time lies in a window that the query names."""
    near: float = 0.80
    """Similarity from which a text says the same as the query; from there relevance rises towards 1."""
    same: float = 0.95
    """Of what is missing to 1: what a text gains whose similarity is 1; the rest keeps the other signals' order."""
    unembedded: float = 0.80
    """Of the words' evidence, when there is a query vector but the text has none yet."""


WEIGHTS: Final = Weights()

RECENT_DAYS: Final = 90.0
"""Age at which half of the recency is gone; it goes slowly and never wholly."""

RECENCY_FLOOR: Final = 0.02
"""Recency of a memory from after `as_of`: not favoured, but still dated."""

BONUS_SHARE: Final = 0.05
"""The most that learned strength and recency add to a score."""

LEARNED_SHARE: Final = 0.6
"""Of the bonus: what feedback taught; the rest is recency."""

HARM: Final = 2.0
"""One use that harmed outweighs one that helped."""


def similarity(cosine: Values, unrelated: float) -> Values:
    """Return how alike texts are by meaning, -1..1, on one scale for all models.

    `unrelated` (below 1) is the cosine that a model gives texts that have nothing in common: 0 on this scale.
    """
    return np.maximum((cosine - unrelated) / (1 - unrelated), -1.0)


def relevance(
    similar: Values | None, embedded: NDArray[np.bool_], alone: Values, paired: Values, speaker: NDArray[np.bool_]
) -> Values:
    """Return the relevance, 0..1, of texts by their own signals.

    `similar` (from `similarity`) is None when the query has no vector: then words alone decide, on the same scale.
    `alone` and `paired` are BM25 shares, 0..1; `speaker` says whether the query names the text's speaker.
    """
    w = WEIGHTS
    words = (w.alone * alone**w.coverage + w.paired * paired**w.coverage) / (w.alone + w.paired)
    named = w.speaker * speaker
    by_words = (1 - w.speaker) * words + named * (words > 0)
    if similar is None:
        return by_words
    own = w.cosine * np.maximum(similar, 0.0) + (w.alone + w.paired) * words + named
    near = w.same * np.clip((similar - w.near) / (1 - w.near), 0.0, 1.0)
    return np.where(embedded, raised(own, near), w.unembedded * by_words)


def raised(value: Values, *shares: Values) -> Values:
    """Return `value` moved towards 1 by shares of what is missing, 0..1 each."""
    missing = 1 - value
    for share in shares:
        missing = missing * (1 - share)
    return 1 - missing


def with_surroundings(own: Values, before: Values, after: Values, cue: Values, dated: NDArray[np.bool_]) -> Values:
    """Return the relevance with what lies around a text, rounded to compare.

    The turns before and after and the task context lend of their relevance, 0..1; `dated` says whether the text's time
    is one that the query names.
    """
    w = WEIGHTS
    lent = (w.before * before, w.after * after, w.cue * np.maximum(cue, 0.0), np.where(dated, w.dated, 0.0))
    return np.round(raised(own, *lent), DECIMALS)


def strength(helped: NDArray[np.int32], harmed: NDArray[np.int32]) -> Values:
    """Return what feedback taught, 0..1; .5 without any. Bounded: it nears its ends and never reaches them."""
    harm = HARM * harmed
    return 0.5 + 0.5 * (helped - harm) / (helped + harm + 2.0)


def recency(age_days: Values, uncertain: NDArray[np.bool_]) -> Values:
    """Return 0..1 by age against `as_of`, negative for later ones; 0 where the time is uncertain."""
    fresh = 1 / (1 + np.maximum(age_days, 0.0) / RECENT_DAYS)
    return np.where(uncertain, 0.0, np.maximum(np.where(age_days < 0, 0.0, fresh), RECENCY_FLOOR))


def score(relevance: Values, extra: Values) -> Values:
    """Return relevance plus the weighed `bonus`, 0..1.05, rounded: what orders memories."""
    return np.round(relevance + BONUS_SHARE * extra, DECIMALS)


def bonus(learned: Values, recent: Values) -> Values:
    """Return the bonus, 0..1, rounded. It never lets a memory in; it orders those that are."""
    return np.round(LEARNED_SHARE * learned + (1 - LEARNED_SHARE) * recent, DECIMALS)
