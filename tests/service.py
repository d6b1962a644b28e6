"""What tests do with the running service; its fixtures stand in conftest."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

from remembrancer.cli.local.plan import Plan
from remembrancer.client import Client, Unavailable, session_calls, tenant
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2


@dataclass(frozen=True)
class Session:
    """An open session, with the calls that most tests make."""

    client: Client
    scope: str
    session_id: str
    opening: session_pb2.ActivateResponse

    def recall(self, query: str, mode: str = "active", **more: object) -> recall_pb2.RecallResponse:
        return self.client.recall(query, scope=self.scope, session_id=self.session_id, mode=mode, **more)  # type: ignore[arg-type]

    def cover(self, retrieval_id: str) -> session_pb2.FeedbackResult:
        return answered(self.client, retrieval_id, remaining="not_used", coverage="complete")

    def commit(self) -> session_pb2.CommitResponse:
        return self.client.commit(
            self.session_id, scope=self.scope, final_goal="done", outcome="success", outcome_summary="it worked"
        )

    def ledger(self) -> session_pb2.GetSessionResponse:
        return self.client.get_session(self.session_id, scope=self.scope)


def answered(client: Client, retrieval_id: str, **feedback: Any) -> session_pb2.FeedbackResult:
    """Give feedback and return its result as it came, where `Client.feedback` raises for one that was rejected."""
    return client.send(session_calls.feedback(retrieval_id, **feedback)).results[0]


OpenSession = Callable[..., Session]


Store = Any
"""A redis.Redis; its annotations mix in those of the asynchronous client."""


def open_store(plan: Plan) -> Store:
    """Return a plain client of a plan's store; a context manager."""
    return redis.Redis.from_url(plan.store_url)


def wait_whole(client: Client, timeout: float = 5.0) -> None:
    """Wait until the gateway is connected to every restarted process again: its attempts are .1 to .25 s apart."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            client.recall("whole?", scope=tenant("nobody"), mode="deep", require_tiers=["active", "deep"])
        except Unavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


Outage = Callable[..., contextlib.AbstractContextManager[None]]


def contents(answer: recall_pb2.RecallResponse) -> list[str]:
    """Return the texts of all hits, best first."""
    return [hit.content for hit in hits(answer)]


def hits(answer: recall_pb2.RecallResponse | session_pb2.ActivateResponse) -> list[recall_pb2.Hit]:
    """Return all hits, best first."""
    return sorted([*answer.hits.observations, *answer.hits.turns], key=lambda hit: -hit.score)


def found_by(answer: recall_pb2.RecallResponse, content: str) -> set[int]:
    """Return the tiers that found a text; empty when it is not among the hits."""
    return {tier for hit in hits(answer) if hit.content == content for tier in hit.found_by}


def unreadable(answer: recall_pb2.RecallResponse) -> bool:
    """Return whether the answer says that the model cannot read the query, so that words alone were searched."""
    return common_pb2.WARNING_CODE_UNREADABLE_TEXT in {warning.code for warning in answer.warnings}


OPERATING_CONTEXT = "operating-context.json"
"""File in the data folder that gives agents their default project; there is none unless a test writes it."""

ACTIVE, DEEP = common_pb2.TIER_ACTIVE, common_pb2.TIER_DEEP
