"""Dates that a query names: a side signal of the search, never a filter and never an error.

Patterns find English phrases; what they name is a window of time, which is why no date parser is used: those give a
moment without its width, and read dates into plain words. Absurd dates ("100,000 years ago") name nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from remembrancer.model import dates_absolute, dates_relative
from remembrancer.model.calendar import Window

MOST: Final = 4
"""Windows of one query; more are left out."""

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
_SIDE: Final = re.compile(r"\b(since|after|before|until|till)\s+(?:the\s+)?$", re.IGNORECASE)
_RULES: Final = tuple(
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), rule)
    for pattern, rule in (*dates_absolute.RULES, *dates_relative.RULES)
)


def windows_of(query: str, as_of: datetime) -> list[Window]:
    """Return up to four windows, in the query's order, read against `as_of` (aware, UTC)."""
    found: dict[int, Window] = {}
    rest = query
    for pattern, rule in _RULES:
        for match in pattern.finditer(rest):
            try:
                window = _bounded(_SIDE.search(query[: match.start()]), rule(match, as_of), as_of)
            except (ValueError, OverflowError):
                continue
            if window.start < window.end:
                found[match.start()] = window
        # What one rule has read is not read again by another; the length stays, and so do the places.
        rest = pattern.sub(lambda m: "\0" * len(m[0]), rest)
    return [found[at] for at in sorted(found)][:MOST]


def _bounded(side: re.Match[str] | None, window: Window, as_of: datetime) -> Window:
    """Return the window, or what lies on one side of it."""
    match side and side[1].lower():
        case "since":
            return Window(window.start, max(as_of, window.end))
        case "after":
            return Window(window.end, max(as_of, window.end))
        case "before":
            return Window(_BEGINNING, window.start)
        case "until" | "till":
            return Window(_BEGINNING, window.end)
        case _:
            return window
