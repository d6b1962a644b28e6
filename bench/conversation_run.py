"""Puts one conversation into the service and asks its questions, through the public API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.dataset import Conversation, Question
from remembrancer.client import Client, turn
from remembrancer.v1 import recall_pb2

TOP_K = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the ids of the turns that came back, best first."""

    question: Question
    ranked: list[str]


def run(client: Client, conversation: Conversation, mode: str, on_step: Callable[[], None]) -> list[Asked]:
    """Record the turns of a conversation, then ask its questions; `on_step` is called after each turn and question."""
    scope = f"conversation:{conversation.id}"
    session = client.activate("Answer questions", f"Remember the conversation {conversation.id}", scope=scope)
    for batch in conversation.batches():
        client.record_turns(
            [turn(t.text, name=t.speaker, timestamp=t.time, msg_id=t.id) for t in batch],
            scope=scope,
            axes={"conversation_id": batch[0].session},
            session_id=session.session_id,
        )
        for _ in batch:
            on_step()
    asked = []
    for question in conversation.questions:
        answer = client.recall(
            question.text,
            scope=scope,
            session_id=session.session_id,
            mode=mode,
            top_k=TOP_K,
            probable_answer=False,
            require_tiers=["active", "deep"] if mode == "deep" else ["active"],
        )
        asked.append(Asked(question, rank(answer)))
        on_step()
    return asked


def rank(answer: recall_pb2.RecallResponse) -> list[str]:
    """Return the sender's ids of all returned turns, associated ones included: by score, then in order of writing."""
    hits = sorted(answer.hits.turns, key=lambda hit: (-hit.score, int(hit.memory_id.rpartition("_")[2])))
    return [hit.msg_id for hit in hits]
