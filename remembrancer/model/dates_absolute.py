"""Phrases that name a date, a month, a season or a year; where the year is left out, the latest that has begun."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from remembrancer.model import calendar
from remembrancer.model.analysis_words import MONTHS
from remembrancer.model.calendar import Window
from remembrancer.model.date_patterns import DAY, MONTH, ORDINAL, YEAR
from remembrancer.model.dates_relative import SINCE, WHICH, offset_of

_MONTH: Final = rf"(?P<month>{MONTH})\b\.?"
_DAY: Final = rf"(?P<day>{DAY}){ORDINAL}"
_YEAR: Final = rf"(?P<year>{YEAR})"
_SEASON: Final = rf"(?P<season>{'|'.join(calendar.SEASONS)})"
_PERSON: Final = r"(?:april|may|june)\b(?!\s+(?:to|until|till|through|on|onwards?)\b)"
"""What may be a person where something is by or from it, unless a span of time goes on."""

_DURING: Final = (
    r"(?:(?:in|during|throughout|by|from)\s+(?:early|mid|late)[\s-]+|(?:in|during|throughout)\s+"
    rf"|(?:by|from)\s+(?!{_PERSON}))"
)


def _iso_date(match: re.Match[str], as_of: datetime) -> Window:
    del as_of
    return calendar.day(datetime(int(match["year"]), int(match["number"]), int(match["day"]), tzinfo=UTC))


def _iso_month(match: re.Match[str], as_of: datetime) -> Window:
    del as_of
    return calendar.month(int(match["year"]), int(match["number"]))


def _date(match: re.Match[str], as_of: datetime) -> Window:
    month, number = _month(match), int(match["day"])
    if match["year"]:
        return calendar.day(datetime(int(match["year"]), month, number, tzinfo=UTC))
    passed = (month, number) <= (as_of.month, as_of.day)
    return calendar.day(datetime(as_of.year - (not passed), month, number, tzinfo=UTC))


def _month_of_year(match: re.Match[str], as_of: datetime) -> Window:
    del as_of
    return calendar.month(int(match["year"]), _month(match))


def _season_of_year(match: re.Match[str], as_of: datetime) -> Window:
    del as_of
    return calendar.season(match["season"].lower(), int(match["year"]))


def _month_alone(match: re.Match[str], as_of: datetime) -> Window:
    number = _month(match)
    return _which(offset_of(match), as_of, [calendar.month(as_of.year + i, number) for i in (-2, -1, 0, 1)])


def _season_alone(match: re.Match[str], as_of: datetime) -> Window:
    name = match["season"].lower()
    return _which(offset_of(match), as_of, [calendar.season(name, as_of.year + i) for i in (-2, -1, 0, 1)])


def _year_alone(match: re.Match[str], as_of: datetime) -> Window:
    del as_of
    return calendar.year(int(match["year"]))


def _which(offset: int | None, as_of: datetime, yearly: list[Window]) -> Window:
    """Choose among the same span of following years: the last that is over, this year's, the next, else the latest."""
    match offset:
        case -1:
            return [w for w in yearly if w.end <= as_of][-1]
        case 0:
            return yearly[2]
        case 1:
            return next(w for w in yearly if w.start > as_of)
        case _:
            return [w for w in yearly if w.start <= as_of][-1]


def _month(match: re.Match[str]) -> int:
    name = match["month"].lower()[:3]
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name))


RULES: Final = (
    (rf"{_YEAR}-(?P<number>0[1-9]|1[0-2])-(?P<day>[0-3]\d)", _iso_date),
    (rf"{_YEAR}-(?P<number>0[1-9]|1[0-2])", _iso_month),
    (rf"{_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?", _date),
    (rf"{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?", _date),
    (rf"{_MONTH},?\s+(?:of\s+)?{_YEAR}", _month_of_year),
    (rf"{_SEASON},?\s+(?:of\s+)?{_YEAR}", _season_of_year),
    (rf"(?:{WHICH}\s+|{_DURING}|{SINCE}){_MONTH}", _month_alone),
    (rf"(?:{WHICH}\s+|{_DURING}(?:the\s+)?){_SEASON}", _season_alone),
    (rf"(?:{_DURING}|(?:the\s+)?year\s+|of\s+|{SINCE}){_YEAR}", _year_alone),
)
"""As in `dates_relative.RULES`."""
