"""Conversations with questions: a folder of JSON files, one conversation each.

A file holds `id`, `turns[{id, session, speaker, text, time}]` and
`questions[{id, text, category, relevant[turn ids]}]`; times without an offset are UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final

EVALUATION: Final = Path(__file__).parent / "evaluation"
"""The project's own conversations."""


class DatasetError(Exception):
    """The folder is not what the benchmark takes; the message says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn; `session` numbers the conversation's sessions, `time` is ISO 8601."""

    id: str
    session: str
    speaker: str
    text: str
    time: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question and the ids of all turns that answer it, ids of turns that there are not included."""

    id: str
    text: str
    category: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation with its questions."""

    id: str
    turns: Sequence[Turn]
    questions: Sequence[Question]

    def batches(self, size: int = 100) -> Iterator[list[Turn]]:
        """Yield the turns in order, at most `size` at once and never of two sessions."""
        for _, session in groupby(self.turns, key=lambda turn: turn.session):
            while batch := list(islice(session, size)):
                yield batch


def load(folder: Path) -> list[Conversation]:
    """Return the conversations of a folder by file name; raise DatasetError."""
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise DatasetError(f"{folder} holds no .json files")
    return [_conversation(file) for file in files]


def _conversation(file: Path) -> Conversation:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        conversation = Conversation(
            id=str(value["id"]),
            turns=[_turn(turn) for turn in value["turns"]],
            questions=[_question(question) for question in value["questions"]],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"{file} is not a conversation: {type(error).__name__}: {error}") from error
    if not conversation.turns or not conversation.questions:
        raise DatasetError(f"{file} has no turns or no questions")
    return conversation


def _turn(value: Any) -> Turn:
    return Turn(str(value["id"]), str(value["session"]), str(value["speaker"]), str(value["text"]), str(value["time"]))


def _question(value: Any) -> Question:
    relevant = frozenset(str(turn) for turn in value["relevant"])
    if not relevant:
        raise ValueError(f"question {value['id']} has no relevant turns")
    return Question(str(value["id"]), str(value["text"]), str(value["category"]), relevant)
