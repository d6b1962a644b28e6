"""Dates in queries, read against a moment."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.model.dates import MOST, windows_of

WEDNESDAY = datetime(2023, 5, 17, 15, 30, tzinfo=UTC)

DAYS = {
    "what did I do yesterday?": ("2023-05-16", "2023-05-17"),
    "the plan for today": ("2023-05-17", "2023-05-18"),
    "who called last night": ("2023-05-16", "2023-05-17"),
    "the day before yesterday": ("2023-05-15", "2023-05-16"),
    "the day after tomorrow": ("2023-05-19", "2023-05-20"),
    "two days ago": ("2023-05-15", "2023-05-16"),
    "a few days ago": ("2023-05-11", "2023-05-16"),
    "in three days": ("2023-05-20", "2023-05-21"),
    "last week": ("2023-05-08", "2023-05-15"),
    "the week before last": ("2023-05-01", "2023-05-08"),
    "this weekend": ("2023-05-20", "2023-05-22"),
    "two weekends ago": ("2023-05-06", "2023-05-08"),
    "the weekend before last": ("2023-05-06", "2023-05-08"),
    "last month": ("2023-04-01", "2023-05-01"),
    "next year": ("2024-01-01", "2025-01-01"),
    "last Monday": ("2023-05-15", "2023-05-16"),
    "last Wednesday": ("2023-05-10", "2023-05-11"),
    "on Sunday": ("2023-05-14", "2023-05-15"),
    "next Friday": ("2023-05-19", "2023-05-20"),
    "in May 2023": ("2023-05-01", "2023-06-01"),
    "May 7, 2022": ("2022-05-07", "2022-05-08"),
    "the 7th of May": ("2023-05-07", "2023-05-08"),
    "on 24 December": ("2022-12-24", "2022-12-25"),
    "2021-02-03": ("2021-02-03", "2021-02-04"),
    "in 2021-02": ("2021-02-01", "2021-03-01"),
    "in June": ("2022-06-01", "2022-07-01"),
    "last May": ("2022-05-01", "2022-06-01"),
    "in 2021": ("2021-01-01", "2022-01-01"),
    "summer of 2021": ("2021-06-01", "2021-09-01"),
    "last winter": ("2022-12-01", "2023-03-01"),
    "before March 2020": ("0001-01-01", "2020-03-01"),
}


@pytest.mark.parametrize("query", DAYS)
def test_a_phrase_names_a_window(query: str) -> None:
    (window,) = windows_of(query, WEDNESDAY)
    assert (window.start, window.end) == tuple(datetime.fromisoformat(d).replace(tzinfo=UTC) for d in DAYS[query])


@pytest.mark.parametrize(
    ("query", "inside"),
    [
        ("two weeks ago", datetime(2023, 5, 3, tzinfo=UTC)),
        ("a month or so ago", datetime(2023, 4, 17, tzinfo=UTC)),
        ("over the last 3 months", datetime(2023, 3, 1, tzinfo=UTC)),
        ("since 2021", WEDNESDAY),
    ],
)
def test_a_span_holds_what_it_is_about_and_not_the_distant_past(query: str, inside: datetime) -> None:
    (window,) = windows_of(query, WEDNESDAY)
    assert window.start <= inside <= window.end
    assert window.start > datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "query",
    [
        "十万年前", "3000 years ago", "100,000 years ago", "in 99999 years", f"{'9' * 300} days ago", "on 31 February",
        "2023-02-30", "I may march", "we sat on a chair", "a second look", "version 2023.1", "x2021", "",
    ],
)  # fmt: skip
def test_d12_what_is_absurd_or_no_date_names_nothing(query: str) -> None:
    assert windows_of(query, WEDNESDAY) == []


def test_several_phrases_name_several_windows_in_their_order() -> None:
    last_month, yesterday = windows_of("last month or yesterday?", WEDNESDAY)
    assert last_month.start < yesterday.start
    assert len(windows_of("yesterday " * 50, WEDNESDAY)) == MOST


@given(
    st.lists(
        st.sampled_from([*" ".join(DAYS).split(), "9999", "99999999", ",", "0", "ago", "(", "weeks"]), max_size=30
    ),
    st.datetimes(timezones=st.just(UTC)),
)
def test_d12_no_query_and_no_moment_is_an_error(words: list[str], as_of: datetime) -> None:
    for window in windows_of(" ".join(words), as_of):
        assert window.start < window.end


@pytest.mark.parametrize("unit", ["a ", "1,", "1", "in ", "last ", "may ", "2023-", "a few "])
def test_the_longest_query_is_read_quickly(unit: str) -> None:
    text = (unit * 4096)[:4096]
    began = datetime.now(UTC)
    windows_of(text, WEDNESDAY)
    assert (datetime.now(UTC) - began).total_seconds() < 1


@pytest.mark.parametrize(
    "query", ["Which book by May did I like?", "What was in the letter from April?", "Who is by June?"]
)
def test_t37_a_person_named_like_a_month_is_no_date(query: str) -> None:
    assert windows_of(query, datetime(2025, 6, 16, tzinfo=UTC)) == []


@pytest.mark.parametrize(
    "query",
    ["Done by March?", "Open from April to June?", "Ready by early May?", "Away in May?", "By May 3?", "Since April?"],
)
def test_t37_a_month_is_a_date_where_it_can_be_nothing_else(query: str) -> None:
    assert len(windows_of(query, datetime(2025, 6, 16, tzinfo=UTC))) == 1
