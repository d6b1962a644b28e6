"""Words that say when are left out of what is searched, and only those."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.model.time_words import without_time_words


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Where do I currently live?", "Where do I live?"),
        ("Where do I live now?", "Where do I live?"),
        ("Where did I use to live?", "Where did I live?"),
        ("Where Ann used to live", "Where Ann live"),
        ("Currently, where do I live?", "where do I live?"),
        ("What database are we using these days?", "What database are we using?"),
        ("Who is the current manager of the support desk?", "Who is the manager of the support desk?"),
        ("Who was Ann's previous boss?", "Who was Ann's boss?"),
        ("Have I ever been to Japan?", "Have I been to Japan?"),
    ],
)
def test_what_is_asked_is_left(query: str, asked: str) -> None:
    assert without_time_words(query) == asked


@pytest.mark.parametrize(
    "query",
    [
        "now",
        "still?",
        "What current does the motor draw?",
        "What is the current in the motor?",
        "Has the Ever Given left?",
        "The price of the Now platform",
        "What do we use to deploy?",
        "Which tool is used to deploy?",
        "whatever nowhere forever knowledge",
        "What is in yet-v2?",
        "Where is deploy-now?",
        "Which lines of still.py changed?",
        "Where is the still?",
        "How hot does a still get?",
        "We are still not there yet",
        "We are still not there yet!",
        "Are we there yet?",
        "Ever After",
        "Who is in Never and Now?",
    ],
)
def test_words_that_are_the_subject_stay(query: str) -> None:
    assert without_time_words(query) == query


def test_a_speakers_name_stays() -> None:
    assert without_time_words("Now adopted what, and when now?", ["now"]) == "Now adopted what, and when now?"
    assert without_time_words("What did still adopt now?", ["still"]) == "What did still adopt?"


@given(st.text(alphabet="now stil uedt?N,.", max_size=60))
def test_something_is_always_left(query: str) -> None:
    assert any(map(str.isalnum, without_time_words(query))) or not any(map(str.isalnum, query))
