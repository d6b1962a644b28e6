"""The same recall gives the same answer: again, from a worker that grew or just started, through another gateway."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from bench import statements
from remembrancer.cli.demo import conversation
from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory, memory_feedback, tenant
from remembrancer.v1 import common_pb2
from tests.gateway import Gateway
from tests.service import Outage, hits

NOW = datetime(2026, 6, 1, tzinfo=UTC)
QUERIES = ("What did the greyhound need?", "who checked the ledger last week?", "Ines", "x")


def answers(client: Client, scope: common_pb2.Scope) -> list[object]:
    """Return all that recalls say of their hits, in order."""
    found: list[object] = []
    for query in QUERIES:
        for mode in ("active", "deep"):
            answer = client.recall(query, scope=scope, mode=mode, as_of=NOW, top_k=50, timeout=30)
            found.append(
                [(h.memory_id, h.relevance, h.score, h.pathway, tuple(h.why), tuple(h.found_by)) for h in hits(answer)]
            )
            found.append([(e.entity_id, e.label, e.score) for e in answer.hits.entities])
            found.append((answer.confidence, answer.more_available, [e.evidence_id for e in answer.evidence]))
    return found


@pytest.fixture(scope="module")
def grown(client: Client) -> common_pb2.Scope:
    """A scope whose workers saw it grow: written in steps, recalled in between, taught and superseded."""
    name = f"grown-{uuid.uuid4()}"
    org = f"org:{name}"
    for sitting in conversation.load().sittings:
        client.record_turns(sitting.turns, scope=org, axes={"conversation_id": sitting.conversation_id})
        client.recall("greyhound", scope=tenant(name), mode="deep")
    for start in range(0, 120, 40):
        texts = statements.filler(120)[start : start + 40]
        client.remember([memory("fact", text, occurred_at=NOW) for text in texts], scope=org)
        client.recall("pump", scope=tenant(name), mode="deep")
    session = client.activate("look", "see", scope=org).session_id
    for query in ("the pump", "the ledger"):
        answer = client.recall(query, scope=org, session_id=session)
        used, stale, new = hits(answer)[:3]
        client.feedback(
            answer.retrieval_id,
            memory_feedback=[
                memory_feedback(used.memory_id, "used", effect="helped"),
                memory_feedback(new.memory_id, "used", effect="helped"),
                memory_feedback(
                    stale.memory_id,
                    "stale",
                    stale_reason="superseded",
                    reason="newer",
                    replacement_memory_id=new.memory_id,
                ),
            ],
            remaining="not_used",
            coverage="complete",
        )
    return tenant(name)


def test_s34_the_same_recall_three_times(client: Client, grown: common_pb2.Scope) -> None:
    first = answers(client, grown)
    assert answers(client, grown) == first
    assert answers(client, grown) == first


def test_no_answer_depends_on_a_workers_history(client: Client, grown: common_pb2.Scope, killed: Outage) -> None:
    before = answers(client, grown)
    with killed(Role.ACTIVE, Role.DEEP, Role.ENCODER):
        pass
    assert answers(client, grown) == before


def test_another_gateway_says_the_same(service: LocalService, client: Client, grown: common_pb2.Scope) -> None:
    with Gateway(service) as other, other.client() as second:
        assert answers(second, grown) == answers(client, grown)


def test_ties_are_ordered_by_number(client: Client, scope: str) -> None:
    org = tenant(scope)
    for user in range(12):
        client.remember([memory("fact", "All the same.", occurred_at=NOW)], scope=org, axes={"user_id": str(user)})
    for top_k in (3, 12):
        for mode in ("active", "deep"):
            found = hits(client.recall("the same", scope=org, mode=mode, top_k=top_k))
            assert [int(hit.memory_id.removeprefix("sch_")) for hit in found] == list(range(1, top_k + 1))
