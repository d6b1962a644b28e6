"""Questions whose answer is not in the store: the same questions, their relevant turns left out.

Leaving turns out has to change the store itself: a filter would still count their words and know what stood beside
them. A store for each question would be truest and takes hours; so the questions of a conversation are dealt into a few
groups, and each group gets a store that lacks the relevant turns of all of its questions. What such a store lacks
beyond the turns of the question at hand is mostly about other parts of the conversation, because questions are dealt in
the order of their first relevant turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.dataset import Conversation, Question

GROUPS = 5
"""More groups are truer and take longer: each records the conversation once more."""


@dataclass(frozen=True, slots=True)
class Group:
    """Questions, and the ids of the turns that their store lacks."""

    questions: Sequence[Question]
    turns: frozenset[str]


def groups(conversation: Conversation, count: int = GROUPS) -> list[Group]:
    """Deal the questions of a conversation into `count` groups, empty ones left out."""
    place = {turn.id: index for index, turn in enumerate(conversation.turns)}
    last = len(place)

    def first_turn(question: Question) -> tuple[int, str]:
        return min(place.get(turn, last) for turn in question.relevant), question.id

    ordered = sorted(conversation.questions, key=first_turn)
    dealt = (ordered[start::count] for start in range(count))
    return [
        Group(questions, frozenset(turn for q in questions for turn in q.relevant & place.keys()))
        for questions in dealt
        if questions
    ]
