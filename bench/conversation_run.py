"""Puts one conversation into the service and asks its questions, through the public API."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from bench.dataset import Conversation, Question
from bench.left_out import groups
from remembrancer.client import Client, turn
from remembrancer.model.ids import number_of
from remembrancer.v1 import recall_pb2

TOP_K = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the ids of the turns that came back, best first.

    `answerable` says whether its relevant turns were in the store; `chosen` is the turn that was named as the probable
    answer, with its `probability`; both None when it was said that none answers.
    """

    question: Question
    ranked: list[str]
    answerable: bool = True
    chosen: str | None = None
    probability: float | None = None


def run(client: Client, conversation: Conversation, mode: str, on_step: Callable[[], None]) -> list[Asked]:
    """Record the turns of a conversation, then ask its questions; `on_step` is called after each turn and question."""
    return _run(
        client, conversation, f"conversation:{conversation.id}", mode, frozenset(), conversation.questions, on_step
    )


def run_left_out(client: Client, conversation: Conversation, mode: str, on_step: Callable[[], None]) -> list[Asked]:
    """Ask every question in a store without its relevant turns; see `bench.left_out`."""
    asked: list[Asked] = []
    for number, group in enumerate(groups(conversation)):
        scope = f"conversation-{number}:{conversation.id}"
        asked += _run(client, conversation, scope, mode, group.turns, group.questions, on_step)
    return asked


def steps(conversation: Conversation) -> int:
    """Return how often `run` and `run_left_out` together call `on_step`."""
    left_out = sum(len(conversation.turns) - len(g.turns) + len(g.questions) for g in groups(conversation))
    return len(conversation.turns) + len(conversation.questions) + left_out


def _run(
    client: Client,
    conversation: Conversation,
    scope: str,
    mode: str,
    left_out: Collection[str],
    questions: Collection[Question],
    on_step: Callable[[], None],
) -> list[Asked]:
    session = client.activate("Answer questions", f"Remember the conversation {conversation.id}", scope=scope)
    for batch in conversation.batches():
        kept = [t for t in batch if t.id not in left_out]
        if not kept:
            continue
        client.record_turns(
            [turn(t.text, name=t.speaker, timestamp=t.time, msg_id=t.id) for t in kept],
            scope=scope,
            axes={"conversation_id": batch[0].session},
            session_id=session.session_id,
        )
        for _ in kept:
            on_step()
    asked = []
    for question in questions:
        answer = client.recall(
            question.text,
            scope=scope,
            session_id=session.session_id,
            mode=mode,
            top_k=TOP_K,
            require_tiers=["active", "deep"] if mode == "deep" else ["active"],
        )
        asked.append(judged(question, answer, answerable=not left_out))
        on_step()
    return asked


def judged(question: Question, answer: recall_pb2.RecallResponse, *, answerable: bool) -> Asked:
    """Return what an answer says, in the sender's ids."""
    if not answer.HasField("probable_answer"):
        return Asked(question, rank(answer), answerable)
    probable = answer.probable_answer
    chosen = next(hit.msg_id for hit in answer.hits.turns if hit.memory_id == probable.id)
    return Asked(question, rank(answer), answerable, chosen, probable.probability)


def rank(answer: recall_pb2.RecallResponse) -> list[str]:
    """Return the sender's ids of all returned turns, associated ones included: by score, then in order of writing."""
    hits = sorted(answer.hits.turns, key=lambda hit: (-hit.score, number_of(hit.memory_id)))
    return [hit.msg_id for hit in hits]
