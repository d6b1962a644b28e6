"""Spans of time on the UTC calendar, for dates that a query names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

MONTHS_OF_YEAR: Final = 12
DAYS_OF_WEEK: Final = 7
SATURDAY: Final = 5

SEASONS: Final[Mapping[str, int]] = MappingProxyType({"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12})
"""First month of each season of three months, as the northern hemisphere and most chats have it."""

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=DAYS_OF_WEEK)


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` up to, not including, `end`; both aware, in UTC."""

    start: datetime
    end: datetime


def day(moment: datetime, offset: int = 0) -> Window:
    """Return the day that is `offset` days from a moment's."""
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0) + offset * DAY
    return Window(start, start + DAY)


def week(moment: datetime, offset: int = 0) -> Window:
    """Return the week, from Monday, that is `offset` weeks from a moment's."""
    start = day(moment, -moment.weekday()).start + offset * WEEK
    return Window(start, start + WEEK)


def weekend(moment: datetime, offset: int = 0) -> Window:
    """Return the Saturday and Sunday of the week that is `offset` weeks from a moment's."""
    start = week(moment, offset).start + SATURDAY * DAY
    return Window(start, start + 2 * DAY)


def month(year: int, number: int, count: int = 1) -> Window:
    """Return `count` months from a month on; `number` 1 is January, and it may lie outside of 1..12."""
    return Window(_first_of(year, number), _first_of(year, number + count))


def year(number: int, count: int = 1) -> Window:
    """Return `count` years from a year on."""
    return month(number, 1, count * MONTHS_OF_YEAR)


def season(name: str, of_year: int) -> Window:
    """Return a season; winter is named by the year in which it begins."""
    return month(of_year, SEASONS[name], 3)


def latest_weekday(moment: datetime, weekday: int) -> Window:
    """Return the latest such day (Monday = 0) that is not after a moment's."""
    return day(moment, -((moment.weekday() - weekday) % DAYS_OF_WEEK))


def _first_of(year_number: int, month_number: int) -> datetime:
    years, index = divmod(month_number - 1, MONTHS_OF_YEAR)
    return datetime(year_number + years, index + 1, 1, tzinfo=UTC)
