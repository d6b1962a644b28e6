"""Ranking measures with binary relevance (Järvelin and Kekäläinen 2002 for nDCG)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean


def ndcg(ranked: Sequence[str], relevant: Collection[str], depth: int = 10) -> float:
    """Return nDCG at `depth`, 0..1; the ideal ranking holds every relevant id."""
    gain = sum(1 / math.log2(rank + 2) for rank, item in enumerate(ranked[:depth]) if item in relevant)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(depth, len(relevant))))
    return gain / ideal


def recall(ranked: Sequence[str], relevant: Collection[str], depth: int) -> float:
    """Return the share of the relevant ids among the first `depth`, 0..1."""
    return len(set(ranked[:depth]) & set(relevant)) / len(relevant)


def by_category(values: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Return the mean of each category, sorted by name."""
    grouped: defaultdict[str, list[float]] = defaultdict(list)
    for category, value in values:
        grouped[category].append(value)
    return {category: fmean(grouped[category]) for category in sorted(grouped)}


def macro(means: Mapping[str, float]) -> float:
    """Return the plain mean of the categories' means."""
    return fmean(means.values())
