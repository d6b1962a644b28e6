"""Examples from which the choice of a probable answer is learnt: questions asked of real stores.

Every question is asked of several stores, so that the choice holds beyond one size and one mixture of memories:
the whole conversation, alone and beside all others; both again without its relevant turns; the one session that holds
its relevant turns; and stores that are about something else: other sessions, other conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from types import MappingProxyType
from typing import Final

from bench.dataset import Conversation, Question, Turn
from bench.left_out import groups
from bench.stores import record_all
from remembrancer.client import Client, tenant
from remembrancer.model import probable_answer_features as seen
from remembrancer.model.ids import number_of
from remembrancer.model.speakers import candidates, names_of
from remembrancer.v1 import recall_pb2

GROUPS: Final = 12
ELSEWHERE: Final = 11
"""One of so many questions is asked of each session that does not hold its answer."""

OFF_TOPIC: Final = 3
"""One of so many questions is asked of each other conversation."""

WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {"whole": 1.0, "without": 1.0, "beside": 1.0, "beside_without": 1.0, "session": 0.2, "elsewhere": 0.25}
)
"""How much an example of each kind of store counts: mostly whole conversations, as much with an answer as without."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question as it was asked: `options` are the considered hits, `right` says which of them answer it."""

    question: seen.Question
    options: Sequence[seen.Option]
    right: Sequence[bool]
    kind: str
    conversation: str


def collect(
    client: Client, conversations: Sequence[Conversation], on_store: Callable[[str], None] = lambda _: None
) -> list[Example]:
    """Fill the stores and ask; `on_store` is called with the name of each store when it is done."""
    found: list[Example] = []
    for store in _stores(conversations):
        record_all(client, store.name, store.turns)
        speakers = {name for speaker in {turn.speaker for turn in store.turns} for name in names_of(speaker)}
        for conversation, question, kind in store.asked:
            example = _ask(client, store.name, speakers, conversation, question, kind)
            if example is not None:
                found.append(example)
        on_store(store.name)
    return found


@dataclass(frozen=True, slots=True)
class _Store:
    name: str
    turns: Sequence[Turn]
    asked: Sequence[tuple[Conversation, Question, str]]


def _stores(conversations: Sequence[Conversation]) -> Iterator[_Store]:
    for conversation in conversations:
        others = [(c, q) for c in conversations if c.id != conversation.id for q in c.questions[::OFF_TOPIC]]
        asked = [(conversation, q, "whole") for q in conversation.questions]
        off_topic = [(c, q, "elsewhere") for c, q in others]
        yield _Store(conversation.id, conversation.turns, asked + off_topic)
        yield from _without(conversation.id, [conversation], "without")
        yield from _sessions(conversation)
    together = [_named_apart(conversation) for conversation in conversations]
    every = [turn for conversation in together for turn in conversation.turns]
    yield _Store("together", every, [(c, q, "beside") for c in together for q in c.questions])
    yield from _without("together", together, "beside_without")


def _without(name: str, conversations: Sequence[Conversation], kind: str) -> Iterator[_Store]:
    dealt = [groups(conversation, GROUPS) for conversation in conversations]
    for number in range(GROUPS):
        missing = frozenset().union(*(group[number].turns for group in dealt))
        turns = [turn for conversation in conversations for turn in conversation.turns if turn.id not in missing]
        asked = [(c, q, kind) for c, group in zip(conversations, dealt, strict=True) for q in group[number].questions]
        yield _Store(f"{name}-without-{number}", turns, asked)


def _sessions(conversation: Conversation) -> Iterator[_Store]:
    session_of = {turn.id: turn.session for turn in conversation.turns}
    for number, session in enumerate(dict.fromkeys(session_of.values())):
        asked = []
        for place, question in enumerate(conversation.questions):
            here = {session_of[turn] == session for turn in question.relevant}
            if here == {True}:
                asked.append((conversation, question, "session"))
            elif here == {False} and (place + number) % ELSEWHERE == 0:
                asked.append((conversation, question, "elsewhere"))
        turns = [turn for turn in conversation.turns if turn.session == session]
        yield _Store(f"{conversation.id}-session-{session}", turns, asked)


def _named_apart(conversation: Conversation) -> Conversation:
    """Return the conversation with ids that no other one has."""

    def apart(name: str) -> str:
        return f"{conversation.id}/{name}"

    return replace(
        conversation,
        turns=[replace(turn, id=apart(turn.id), session=apart(turn.session)) for turn in conversation.turns],
        questions=[replace(q, relevant=frozenset(map(apart, q.relevant))) for q in conversation.questions],
    )


def _ask(
    client: Client, store: str, speakers: Collection[str], conversation: Conversation, question: Question, kind: str
) -> Example | None:
    """Return what was found, as the gateway sees it; None without hits."""
    answer = client.recall(question.text, scope=tenant(store), probable_answer=False)
    options = seen.considered([_option(hit) for hit in answer.hits.turns])
    if not options:
        return None
    relevant = {number_of(hit.memory_id) for hit in answer.hits.turns if hit.msg_id in question.relevant}
    mentioned = [name for name in candidates(question.text) if name in speakers]
    return Example(
        question=seen.Question.of(question.text, mentioned, answer.as_of.ToDatetime(UTC)),
        options=options,
        right=[kind != "elsewhere" and option.n in relevant for option in options],
        kind=kind,
        conversation=conversation.id,
    )


def _option(hit: recall_pb2.Hit) -> seen.Option:
    return seen.Option(
        n=number_of(hit.memory_id),
        relevance=hit.relevance,
        content=hit.content,
        speaker=hit.name,
        conversation=hit.axes.conversation_id,
        at=None if hit.time_uncertain else hit.occurred_at.ToDatetime(UTC).timestamp(),
    )
