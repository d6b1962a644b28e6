"""D16, G8: the largest answer that there can be fits in 4 MiB, and spends what it may on the best hits."""

from __future__ import annotations

from remembrancer.client import Client, memory, procedure_feedback, tenant, turn
from remembrancer.model.task_context import to_struct
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from tests.service import OpenSession, hits

LIMIT = 4 * 2**20

WIDE = "🍸"
"""Four bytes of UTF-8 in one code point."""


def wide(length: int, start: str = "") -> str:
    return start + WIDE * (length - len(start))


def test_d16_g8_the_largest_answer_fits_and_the_best_hits_keep_what_they_may(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    axes = {
        name: wide(256) for name in ("agent_id", "user_id", "conversation_id", "project_id", "channel", "source_id")
    }
    source = common_pb2.SourceInfo(kind=wide(256), integration=wide(256), integration_version=wide(256))
    for start in (0, 30):
        turns = [
            turn(wide(1500, f"Ottilie {n} "), name=wide(256), role=wide(256), msg_id=wide(256, f"{n}"))
            for n in range(start, start + 30)
        ]
        client.record_turns(turns, scope=scope, axes=axes, source=source)
    client.remember([memory("fact", ("猫と犬。" * 4000)[:16_000])], scope=scope, axes=axes)
    own = {name: axes[name] for name in ("agent_id", "user_id", "project_id")}
    for n in range(3):
        _procedure(client, open_session(axes=own), scope, n)
    session = open_session(axes=own)
    answer = session.recall(
        f"Ottilie ladder {WIDE}",
        "deep",
        top_k=50,
        evidence="full",
        include_timeline=True,
        task_context={"place": "bar"},
        timeout=30,
    )
    direct = [hit for hit in hits(answer) if hit.pathway == recall_pb2.PATHWAY_DIRECT]
    assert len(direct) == 50
    assert len(answer.procedures) == 3
    assert all(len(p.steps) == 64 and len(p.caveats) >= 16 for p in answer.procedures)
    assert all(len(hit.content) == 500 and hit.content_truncated for hit in hits(answer) if hit.content_length > 500)
    assert [len(e.content) for e in answer.evidence] == [1000] * 8
    assert all(e.content_truncated for e in answer.evidence)
    assert LIMIT / 4 < answer.ByteSize() < LIMIT


def _procedure(client: Client, session: object, scope: str, number: int) -> None:
    steps = [recall_pb2.ProcedureStep(summary=wide(1000, f"Ottilie {n}, ladder ")) for n in range(64)]
    session_id = session.session_id  # type: ignore[attr-defined]
    opening = session.opening  # type: ignore[attr-defined]
    unused = [procedure_feedback(p.procedure_id, "not_used") for p in opening.procedures]
    client.feedback(opening.retrieval_id, procedure_feedback=unused, remaining="not_used", coverage="complete")
    client.commit(
        session_id,
        scope=scope,
        final_goal=wide(4000, f"Ottilie goal {number} "),
        outcome="failure",
        outcome_summary=wide(4000),
        procedure=session_pb2.ProcedureInput(
            summary=wide(4000, f"Ottilie {number} "),
            steps=steps,
            caveats=[wide(1000, f"{n}") for n in range(16)],
            context=to_struct({"place": "bar", "notes": wide(16_000)}),
        ),
        timeout=60,
    )


def test_d16_a_tenants_largest_answer_fits_too(client: Client, scope: str) -> None:
    org = tenant(scope)
    client.remember([memory("fact", ("鯨" * 15_990) + str(n)) for n in range(2)], scope=org)
    client.remember([memory("fact", wide(500, f"鯨 {n} ")) for n in range(60)], scope=org)
    answer = client.recall("鯨", scope=org, top_k=50, evidence="full", include_timeline=True)
    assert len(hits(answer)) == 50
    assert sum(hit.content_truncated for hit in hits(answer)) <= 2
    assert answer.ByteSize() < LIMIT
