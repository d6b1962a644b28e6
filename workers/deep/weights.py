"""How much an edge of the graph passes on: shares in 0..1, set by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable

SHARES_ENTITY = 1.0
"""A rare common entity: the two records are about the same thing; how rare is for its specificity to say."""
ADJACENT_TURN = 0.4
"""Question and answer stand beside each other, but so do greetings."""
SAME_SESSION = 0.1
"""One sitting, or conversation, wanders over several subjects."""
USED_TOGETHER = 0.8
"""Feedback said so; what it passes on fades."""
REPLACES = 0.9
"""The same statement, later."""

USED_TOGETHER_HALF_LIFE = 7 * 86400.0
"""Seconds after which one use together counts half."""

TELLING = 0.22
"""Specificity below which an entity is a hub, such as a speaker's name, and leads nowhere."""

SMALL_PARTITION = 16
"""Records added to the total when judging an entity's share, so that a pair in a tiny partition is no hub."""


def specificity(mentions: int, records: int) -> float:
    """Return how much an entity says, 0..1: near 1 when `mentions` of `records` are few, 0 for a hub.

    The first factor is the share of records that do not mention it, squared: two records that both mention it are then
    no coincidence. The second is the fan effect of spreading activation (Anderson 1983): what comes in is divided among
    those it leads to; the cube root keeps entities with a handful of mentions useful.
    """
    if mentions < 1:
        return 0.0
    apart = (1.0 - mentions / (records + SMALL_PARTITION)) ** 2
    said = float(apart / max(1, mentions - 1) ** (1 / 3))
    return said if said >= TELLING else 0.0


def used_together(times: Iterable[float], as_of: float) -> float:
    """Return what uses together at `times` pass on at `as_of` (seconds): each halves in 7 days, many near the bound.

    A use after `as_of` counts like one at that moment.
    """
    uses = math.fsum(0.5 ** (max(0.0, as_of - at) / USED_TOGETHER_HALF_LIFE) for at in times)
    return USED_TOGETHER * uses / (1.0 + uses)
