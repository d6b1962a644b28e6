"""Idempotency: the same request_id with the same body gets the first answer again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import Message

from remembrancer.model.errors import RequestIdReused
from remembrancer.store.change import Change, Replay
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import PartitionStore, Read

WRITES_MS: Final = 24 * 3600 * 1000
RECALLS_MS: Final = 600 * 1000


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The first answer: as it was planned, and the sequence number before the change that made it."""

    answer: bytes
    base: int


@dataclass(frozen=True, slots=True)
class Idempotency:
    """One request as the replay memory knows it; `key` is "" when the caller gave no request_id."""

    key: str
    body: bytes
    ttl_ms: int

    @classmethod
    def of(
        cls, keys: PartitionKeys, caller: str, rpc: str, request: Message, request_id: str, ttl_ms: int
    ) -> Idempotency:
        """Return the idempotency of a request; bodies are compared decoded."""
        if not request_id:
            return cls("", b"", ttl_ms)
        body = hashlib.sha256(request.SerializeToString(deterministic=True)).digest()
        return cls(keys.replay(caller, rpc, request_id), body, ttl_ms)

    def reads(self) -> list[Read]:
        """Return what must be read to know whether the request came in before: no or one command."""
        return [("HMGET", self.key, "body", "answer", "base")] if self.key else []

    async def read_first(self, store: PartitionStore) -> FirstAnswer | None:
        """Read and return the first answer. Errors: RequestIdReused, StoreUnavailable."""
        return self.first((await store.read(*self.reads())).answers) if self.key else None

    def first(self, answers: list[Any]) -> FirstAnswer | None:
        """Return the first answer, from what `reads` brought. Errors: RequestIdReused."""
        if not self.key or answers[0][0] is None:
            return None
        body, answer, base = answers[0]
        return self.checked(body, answer, int(base))

    def checked(self, body: bytes, answer: bytes, base: int) -> FirstAnswer:
        """Return the first answer. Errors: RequestIdReused when the bodies differ."""
        if body != self.body:
            raise RequestIdReused
        return FirstAnswer(answer, base)

    def remember(self, change: Change, answer: Message) -> None:
        """Have the change remember the answer."""
        if self.key:
            change.replay = Replay(self.key, self.body, answer.SerializeToString(deterministic=True), self.ttl_ms)
