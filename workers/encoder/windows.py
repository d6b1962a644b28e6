"""Cuts a long text into the windows that a model can read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

MAX_WINDOWS = 32
"""Windows of one text; a longer one is sampled evenly, its beginning and its end included."""

MAX_QUERY_WINDOWS = 8
"""Windows of one query: somebody waits for it, and they are averaged into one vector anyway."""

OVERLAP = 8
"""Neighbouring windows share one part in so many, so that no sentence is only ever seen cut."""


def cut(tokens: Sequence[T], size: int, most: int = MAX_WINDOWS) -> list[Sequence[T]]:
    """Return 1..`most` (>= 2) slices of at most `size` tokens (>= 1); together they cover all tokens if so many can.

    The last one ends with the last token. No tokens make one empty window.
    """
    if len(tokens) <= size:
        return [tokens]
    step = max(1, size - size // OVERLAP)
    last = len(tokens) - size
    count = min(most, 1 + math.ceil(last / step))
    starts = [round(i * last / (count - 1)) for i in range(count)]
    return [tokens[start : start + size] for start in starts]
