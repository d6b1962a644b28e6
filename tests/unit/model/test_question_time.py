"""What time a question is about."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.model.dates import windows_of
from remembrancer.model.question_time import question_time
from remembrancer.v1 import recall_pb2

AS_OF = datetime(2025, 6, 16, 12, tzinfo=UTC)

DATE = recall_pb2.QUESTION_TIME_DATE
EVER = recall_pb2.QUESTION_TIME_EVER
FUTURE = recall_pb2.QUESTION_TIME_FUTURE
PAST = recall_pb2.QUESTION_TIME_PAST
CURRENT = recall_pb2.QUESTION_TIME_CURRENT
TIMELESS = recall_pb2.QUESTION_TIME_TIMELESS


def of(query: str) -> int:
    return question_time(query, windows_of(query, AS_OF))


@pytest.mark.parametrize(
    "query",
    [
        "Where do I live?",
        "where do i live",
        "Where do I currently live?",
        "Which city am I living in now?",
        "What city do I live in at the moment?",
        "What's my home town?",
        "Tell me where I live",
        "Who lives with me?",
        "Is my flat in Porto?",
        "Where is she these days?",
        "How many rooms does my flat have?",
    ],
)
def test_p52_what_holds_now(query: str) -> None:
    assert of(query) == CURRENT


@pytest.mark.parametrize(
    "query",
    [
        "Where did I live before?",
        "Where did I live before I moved to Porto?",
        "Where did I use to live?",
        "Where I used to live",
        "Which city did I previously live in?",
        "What was my old address?",
        "What was the first name of the boat?",
        "Where was I living back then?",
        "Which flat is no longer mine?",
        "What was our original release day?",
    ],
)
def test_p52_an_earlier_state(query: str) -> None:
    assert of(query) == PAST


@pytest.mark.parametrize(
    "query",
    [
        "Have I ever lived in Lisbon?",
        "Have I lived in Lisbon?",
        "Has Mia ever been abroad before?",
        "Did I ever mention Lisbon?",
        "How often did we move?",
        "How many times was the deadline moved?",
        "Have we never met?",
    ],
)
def test_p52_whether_or_how_often_ever(query: str) -> None:
    assert of(query) == EVER


@pytest.mark.parametrize(
    "query",
    [
        "What are my plans for the roof?",
        "Where will we meet?",
        "Where is she going to live?",
        "Who'll drive?",
        "What am I planning to cook?",
        "What is next?",
    ],
)
def test_what_is_planned_is_about_the_future(query: str) -> None:
    assert of(query) == FUTURE


def test_t27_what_was_planned_before_is_about_the_past() -> None:
    assert of("For which day was the release planned before?") == PAST
    assert of("For which day was the release planned?") == FUTURE
    assert of("For which day is the release planned now?") == FUTURE


@pytest.mark.parametrize(
    "query",
    [
        "What did we decide in May 2024?",
        "What did I eat yesterday?",
        "What will I do next week?",
        "How often did I swim last year?",
        "Where did I live before March 2021?",
        "What is planned for 2025-07-01?",
    ],
)
def test_a_date_comes_before_everything_else(query: str) -> None:
    assert of(query) == DATE


@pytest.mark.parametrize(
    "query",
    [
        "Why is the sky blue?",
        "How do I reset the router?",
        "What did she give me for my birthday?",
        "When did Mia come to the park?",
        "What has Mia painted?",
        "yaw incident ticket",
        "你住在哪里",
        "?!",
    ],
)
def test_no_time_in_particular(query: str) -> None:
    assert of(query) == TIMELESS


def test_the_order_where_several_fit() -> None:
    assert of("Will I ever know what I did before, now?") == EVER
    assert of("What will we do now that we did before?") == FUTURE
    assert of("What did I do before that I still do now?") == PAST


@pytest.mark.parametrize("word", ["going", "to ", "what ", "have ", "is ", "my old ", "before ", "'", "a"])
def test_long_queries_take_no_time(word: str) -> None:
    query = (word * 4096)[:4096]
    began = time.perf_counter()
    question_time(query, [])
    assert time.perf_counter() - began < 0.25


@given(st.text(max_size=60))
def test_every_text_has_one(query: str) -> None:
    assert question_time(query, []) in (EVER, FUTURE, PAST, CURRENT, TIMELESS)
