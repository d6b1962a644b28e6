"""The project's own conversations: their shape, and that the fitted file is of them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from itertools import pairwise

import pytest

from bench.dataset import EVALUATION, Conversation, load
from bench.fit_probable_answer import OUT, digest
from remembrancer.model.dates import windows_of
from remembrancer.model.question_time import question_time
from remembrancer.v1 import recall_pb2

CATEGORIES = {"single_hop", "multi_hop", "temporal_reasoning", "open_domain", "adversarial"}
CONVERSATIONS = load(EVALUATION)
each_conversation = pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda c: c.id)


def test_there_are_enough_turns_and_questions_of_every_category_and_time() -> None:
    questions = [question for conversation in CONVERSATIONS for question in conversation.questions]
    assert len(CONVERSATIONS) >= 2
    assert sum(len(conversation.turns) for conversation in CONVERSATIONS) >= 300
    assert len(questions) >= 120
    assert {question.category for question in questions} == CATEGORIES
    asked = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    times = Counter(question_time(question.text, windows_of(question.text, asked)) for question in questions)
    assert all(times[time] >= 5 for time in recall_pb2.QuestionTime.values() if time)


@each_conversation
def test_ids_are_unique_and_relevant_turns_exist(conversation: Conversation) -> None:
    turns = [turn.id for turn in conversation.turns]
    assert len(set(turns)) == len(turns)
    assert len({question.id for question in conversation.questions}) == len(conversation.questions)
    assert len({question.text for question in conversation.questions}) == len(conversation.questions)
    assert all(question.relevant <= set(turns) for question in conversation.questions)


@each_conversation
def test_two_speakers_take_turns_over_several_months(conversation: Conversation) -> None:
    assert len({turn.speaker for turn in conversation.turns}) == 2
    times = [datetime.fromisoformat(turn.time) for turn in conversation.turns]
    assert times == sorted(times)
    assert (times[-1] - times[0]).days > 150
    assert len({turn.session for turn in conversation.turns}) >= 10
    sessions = [turn.session for turn in conversation.turns]
    speakers = [turn.speaker for turn in conversation.turns]
    changes = sum(a != b for a, b in pairwise(speakers))
    assert changes > 0.9 * (len(speakers) - len(set(sessions)))


def test_speakers_differ_between_conversations() -> None:
    speakers = [speaker for c in CONVERSATIONS for speaker in {turn.speaker for turn in c.turns}]
    assert len(set(speakers)) == len(speakers)


def test_texts_are_written_not_filled_in() -> None:
    turns = [turn.text for conversation in CONVERSATIONS for turn in conversation.turns]
    assert len(set(turns)) == len(turns)
    openings = Counter(tuple(text.split()[:4]) for text in turns if len(text.split()) >= 8)
    assert max(openings.values()) <= 3


def test_the_shipped_coefficients_were_fitted_on_these_conversations() -> None:
    provenance = json.loads(OUT.read_text())["provenance"]
    assert provenance["sha256"] == digest(EVALUATION)
    assert provenance["data"] == "bench/evaluation"
    assert provenance["encoder"] != "unknown"
