"""Numbers that bound calls, and what is left of a call's time for each of its stages."""

from __future__ import annotations

import math
from typing import Final

from remembrancer.model.errors import InvalidField

QUERY_LENGTH: Final = 4096
BATCH: Final = 100
TOP_K_MAX: Final = 50

RESERVE_SHARE: Final = 0.1
RESERVE_MIN: Final = 0.03
RESERVE_MAX: Final = 0.5
"""Seconds of a recall that stay for reading the records, the ledger write and the assembly of the answer."""

RESERVE_MARGIN: Final = 1.5
"""How much longer the rest of a recall may take than it took lately."""


def tier_budget(remaining: float, rest: float) -> float:
    """Return the seconds that tiers may take of the `remaining` ones, given what the rest of a recall takes lately.

    At least half of the time is the tiers' own.
    """
    reserve = min(RESERVE_MAX, max(RESERVE_MIN, remaining * RESERVE_SHARE, RESERVE_MARGIN * rest))
    return max(remaining / 2, remaining - reserve)


TOO_LITTLE: Final = 0.02
"""Seconds within which no tier can be asked and answer."""


def whole_number(field: str, value: int | None, default: int, low: int, high: int) -> int:
    """Return a bounded count, or its default when unset. Errors: InvalidField naming `field`."""
    if value is None:
        return default
    if not low <= value <= high:
        raise InvalidField(field, f"must be {low} to {high}, is {value}")
    return value


def share(field: str, value: float | None) -> float | None:
    """Return a number from 0 to 1, None when unset. Errors: InvalidField naming `field`."""
    if value is None:
        return None
    if not math.isfinite(value) or not 0.0 <= value <= 1.0:
        raise InvalidField(field, "must be a number from 0 to 1")
    return value
