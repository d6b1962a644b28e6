"""Fills stores of the benchmarks through the public API."""

from __future__ import annotations

from collections.abc import Sequence

from bench.dataset import Conversation, Turn
from remembrancer.client import Client, memory, tenant, turn

BATCH = 100


def remember_all(client: Client, store: str, texts: Sequence[str]) -> None:
    """Remember statements in the tenant `store`."""
    for start in range(0, len(texts), BATCH):
        client.remember([memory("fact", text) for text in texts[start : start + BATCH]], scope=tenant(store))


def record_all(client: Client, store: str, turns: Sequence[Turn]) -> None:
    """Record turns in the tenant `store`, each session as a conversation."""
    for batch in Conversation(store, turns, ()).batches():
        client.record_turns(
            [turn(t.text, name=t.speaker, timestamp=t.time, msg_id=t.id) for t in batch],
            scope=tenant(store),
            axes={"conversation_id": batch[0].session},
        )
