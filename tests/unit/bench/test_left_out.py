"""Stores that lack what their questions ask for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.dataset import Conversation, Question, Turn
from bench.left_out import groups

TURNS = [f"D{number}" for number in range(20)]
CONVERSATIONS = st.lists(st.frozensets(st.sampled_from([*TURNS, "gone"]), min_size=1, max_size=4), min_size=1).map(
    lambda relevant: Conversation(
        "c",
        [Turn(turn, "1", "Mia", turn, "2024-01-01") for turn in TURNS],
        [Question(f"q{number}", "?", "c", ids) for number, ids in enumerate(relevant)],
    )
)


@given(CONVERSATIONS, st.integers(1, 12))
def test_every_question_is_in_one_group_whose_store_lacks_what_its_questions_need_and_no_more(
    conversation: Conversation, count: int
) -> None:
    dealt = groups(conversation, count)
    assert sorted(q.id for group in dealt for q in group.questions) == sorted(q.id for q in conversation.questions)
    assert len(dealt) == min(count, len(conversation.questions))
    for group in dealt:
        assert group.turns == frozenset().union(*(q.relevant for q in group.questions)) - {"gone"}


@pytest.mark.parametrize("count", [2, 5])
def test_questions_about_neighbouring_turns_are_dealt_apart(count: int) -> None:
    conversation = Conversation(
        "c",
        [Turn(turn, "1", "Mia", turn, "2024-01-01") for turn in TURNS],
        [Question(f"q{turn}", "?", "c", frozenset({turn})) for turn in reversed(TURNS)],
    )
    for group in groups(conversation, count):
        places = sorted(TURNS.index(turn) for turn in group.turns)
        assert all(later - earlier == count for earlier, later in pairwise(places))
