"""Phrases that name a time by its distance from a moment: "yesterday", "two weeks ago", "the weekend before last"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from remembrancer.model import calendar
from remembrancer.model.analysis_words import WEEKDAYS
from remembrancer.model.calendar import DAY, WEEK, Window

OFFSETS: Final[Mapping[str, int]] = MappingProxyType(
    {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
)
SINCE: Final = r"(?:(?<=since )|(?<=after )|(?<=before )|(?<=until )|(?<=till ))"
"""Stands before a time of which only one side is meant."""

WHICH: Final = rf"(?P<which>{'|'.join(OFFSETS)})"

_DAYS: Final = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
_NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_VAGUE: Final = {"few": (2, 6), "several": (3, 9), "some": (2, 9)}
_LENGTHS: Final = {
    "hour": DAY / 24, "day": DAY, "week": WEEK, "fortnight": 2 * WEEK, "month": 30.44 * DAY, "year": 365.25 * DAY,
    "decade": 3652.5 * DAY,
}  # fmt: skip
_COUNT: Final = (
    rf"(?P<count>(?<![\d.,])\d[\d,]{{0,18}}|(?:a\s+)?(?:couple(?:\s+of)?|{'|'.join(_VAGUE)})|{'|'.join(_NUMBERS)})"
)
_UNIT: Final = rf"(?P<unit>{'|'.join(_LENGTHS)})s?(?:\s+or\s+(?:two|so))?"
_SPAN: Final = r"(?P<unit>week|weekend|month|year)"
_EARLIER: Final = r"(?:ago|back|earlier)"


def offset_of(match: re.Match[str]) -> int | None:
    """Return -1, 0 or 1 for the word in the group `which`; None when it is not there."""
    return OFFSETS.get((match["which"] or "").lower())


def _day_beside(match: re.Match[str], as_of: datetime) -> Window:
    offset = _DAYS[match["word"].lower()]
    return calendar.day(as_of, offset + (-1 if match["beside"].lower() == "before" else 1))


def _named_day(match: re.Match[str], as_of: datetime) -> Window:
    return calendar.day(as_of, _DAYS[match["word"].lower()])


def _part_of_day(match: re.Match[str], as_of: datetime) -> Window:
    return calendar.day(as_of, OFFSETS[match["which"].lower()])


def _weekday(match: re.Match[str], as_of: datetime) -> Window:
    weekday, offset = WEEKDAYS.index(match["weekday"].lower()), offset_of(match)
    shift = {-1: -DAY, 1: WEEK}.get(offset or 0, timedelta())
    return calendar.latest_weekday(as_of + shift, weekday)


def _weekends_away(match: re.Match[str], as_of: datetime) -> Window:
    low, high = _count(match["count"])
    return Window(calendar.weekend(as_of, -high).start, calendar.weekend(as_of, -low).end)


def _ago(match: re.Match[str], as_of: datetime) -> Window:
    return _away(match, as_of, -1)


def _ahead(match: re.Match[str], as_of: datetime) -> Window:
    return _away(match, as_of, 1)


def _away(match: re.Match[str], as_of: datetime, sign: int) -> Window:
    """Return the day so many days away, else a span of one unit around the moment that is so many units away."""
    unit, (low, high) = match["unit"].lower(), _count(match["count"])
    if unit == "day":
        first, last = calendar.day(as_of, sign * low), calendar.day(as_of, sign * high)
        return Window(min(first.start, last.start), max(first.end, last.end))
    length = _LENGTHS[unit]
    near, far = as_of + sign * (low - 0.5) * length, as_of + sign * (high + 0.5) * length
    return Window(min(near, far), max(near, far))


def _adjoining(match: re.Match[str], as_of: datetime) -> Window:
    """Return the last so many units, up to the moment itself, or the next ones."""
    length = _count(match["count"])[1] * _LENGTHS[match["unit"].lower()]
    if OFFSETS[match["which"].lower()] > 0:
        return Window(as_of, as_of + length)
    return Window(as_of - length, as_of + timedelta(seconds=1))


def _before_last(match: re.Match[str], as_of: datetime) -> Window:
    return _unit_at(match["unit"].lower(), as_of, -2)


def _one_unit(match: re.Match[str], as_of: datetime) -> Window:
    return _unit_at(match["unit"].lower(), as_of, OFFSETS[match["which"].lower()])


def _unit_at(unit: str, as_of: datetime, offset: int) -> Window:
    match unit:
        case "week":
            return calendar.week(as_of, offset)
        case "weekend":
            return calendar.weekend(as_of, offset)
        case "month":
            return calendar.month(as_of.year, as_of.month + offset)
        case _:
            return calendar.year(as_of.year + offset)


def _count(text: str) -> tuple[int, int]:
    """Return the least and the most that a number, in digits or words, may mean."""
    if text[0].isdigit():
        number = int(text.replace(",", ""))
        return number, number
    for word in reversed(text.lower().split()):
        if word in _VAGUE:
            return _VAGUE[word]
        if word in _NUMBERS:
            return _NUMBERS[word], _NUMBERS[word]
    raise ValueError(text)


RULES: Final = (
    (rf"(?:the\s+)?day\s+(?P<beside>before|after)\s+(?P<word>{'|'.join(_DAYS)})", _day_beside),
    (rf"(?P<word>{'|'.join(_DAYS)})", _named_day),
    (rf"{WHICH}\s+(?:night|morning|afternoon|evening)", _part_of_day),
    (rf"{_COUNT}\s+weekends?\s+{_EARLIER}", _weekends_away),
    (rf"{_COUNT}\s+{_UNIT}\s+{_EARLIER}", _ago),
    (rf"in\s+{_COUNT}\s+{_UNIT}", _ahead),
    (rf"{_COUNT}\s+{_UNIT}\s+from\s+now", _ahead),
    (rf"{WHICH}\s+{_COUNT}\s+{_UNIT}", _adjoining),
    (rf"(?:the\s+)?{_SPAN}\s+before\s+last", _before_last),
    (rf"{WHICH}\s+{_SPAN}", _one_unit),
    (rf"(?:{WHICH}\s+|on\s+|{SINCE})(?P<weekday>{'|'.join(WEEKDAYS)})", _weekday),
)
"""Pattern and rule, in the order in which they are tried: the first that matches a place in a text takes it.

A rule takes the match and an aware moment in UTC; it may raise ValueError or OverflowError for what is absurd.
"""
