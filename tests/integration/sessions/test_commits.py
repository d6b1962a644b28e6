"""Commit: the gate, the close, the episode, and committing again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from remembrancer.client import (
    Client,
    ClientError,
    FeedbackIncompleteError,
    InvalidArgument,
    memory,
    memory_feedback,
    session_calls,
    turn,
)
from remembrancer.client.call import serialize
from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import number_of
from remembrancer.v1 import common_pb2, errors_pb2, recall_pb2, session_pb2
from tests.gateway import Service
from tests.integration.sessions.conftest import keys_of
from tests.service import OpenSession, Session, hits

COMMITTED = session_pb2.SESSION_STATE_COMMITTED
SKERRY = "Skerry has one pub and no bank."


def commit(session: Session, **more: Any) -> session_pb2.CommitResponse:
    given = {"final_goal": "reach Skerry", "outcome": "success", "outcome_summary": "took the early ferry", **more}
    return session.client.commit(session.session_id, scope=session.scope, **given)


def outcome_of(stored: Any, session: Session) -> store_pb2.SessionOutcome:
    keys, ref = keys_of(session.session_id)
    return store_pb2.SessionOutcome.FromString(stored.hget(keys.session(ref.ledger), "outcome"))


def episodes(session: Session) -> list[recall_pb2.Hit]:
    answer = session.client.recall(
        "reach Skerry by ferry",
        scope=session.scope,
        session_id=session.client.activate("look", "around", scope=session.scope).session_id,
        kinds=["episode"],
    )
    return hits(answer)


@pytest.mark.essential
def test_the_gate_lists_what_is_missing_oldest_first(client: Client, session: Session) -> None:
    client.remember([memory("fact", SKERRY)], scope=session.scope)
    made = [session.opening.retrieval_id, *(session.recall("Skerry").retrieval_id for _ in range(24))]
    session.cover(made[3])
    with pytest.raises(FeedbackIncompleteError) as refused:
        commit(session)
    detail = refused.value.feedback_incomplete
    assert (detail.total, detail.truncated) == (24, True)
    listed = [retrieval.retrieval_id for retrieval in detail.retrievals]
    assert listed == [name for name in made if name != made[3]][: len(listed)]
    assert [r.outstanding_count for r in detail.retrievals] == [0, *[1] * (len(listed) - 1)]
    assert not any(r.coverage_declared_complete for r in detail.retrievals)
    # GetSession has the whole list.
    ledger = session.ledger()
    assert (ledger.uncovered_count, ledger.state) == (24, session_pb2.SESSION_STATE_OPEN)
    assert [r.retrieval_id for r in ledger.retrievals if not r.covered] == [n for n in made if n != made[3]]


def test_the_details_stay_under_4_kb_with_twenty_retrievals_of_five_ids(
    service: Service, client: Client, session: Session
) -> None:
    client.remember([memory("fact", f"Skerry house {i} is painted {i * 7}.") for i in range(6)], scope=session.scope)
    for _ in range(21):
        session.recall("Skerry house", top_k=6)
    call = session_calls.commit(session.session_id, scope=session.scope, final_goal="g", outcome=1, outcome_summary="s")
    with grpc.insecure_channel(service.address) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(call.path, serialize, None)(call.request, timeout=10)
    error: Any = caught.value
    raw = dict(error.trailing_metadata())["grpc-status-details-bin"]
    assert len(raw) < 4096
    status = status_pb2.Status.FromString(raw)
    assert status.code == grpc.StatusCode.FAILED_PRECONDITION.value[0]
    details: dict[type, Any] = {}
    for kind in (
        errors_pb2.FeedbackIncomplete,
        error_details_pb2.PreconditionFailure,
        error_details_pb2.ErrorInfo,
    ):
        (packed,) = [detail for detail in status.details if detail.Is(kind.DESCRIPTOR)]
        details[kind] = kind()
        packed.Unpack(details[kind])
    typed = details[errors_pb2.FeedbackIncomplete]
    assert (typed.total, typed.truncated) == (22, True)
    assert 15 <= len(typed.retrievals) <= 20
    assert all(len(r.outstanding) <= 5 for r in typed.retrievals)
    assert [r.outstanding_count for r in typed.retrievals] == [0, *[6] * (len(typed.retrievals) - 1)]
    subjects = [violation.subject for violation in details[error_details_pb2.PreconditionFailure].violations]
    assert subjects == [r.retrieval_id for r in typed.retrievals]
    assert details[error_details_pb2.ErrorInfo].reason == "FEEDBACK_INCOMPLETE"


def test_a_refused_commit_writes_nothing(session: Session, stored: Any) -> None:
    keys, ref = keys_of(session.session_id)
    before = stored.hgetall(keys.session(ref.ledger))
    with pytest.raises(FeedbackIncompleteError):
        commit(session, request_id="c-1")
    assert stored.hgetall(keys.session(ref.ledger)) == before
    # Nor is the refusal remembered: the same request goes through once all is covered.
    session.cover(session.opening.retrieval_id)
    assert commit(session, request_id="c-1").state == COMMITTED


@pytest.mark.essential
def test_an_episode_holds_goal_outcome_axes_and_members(client: Client, scope: str, stored: Any) -> None:
    axes = {"agent_id": "pilot", "user_id": "ada", "channel": "c1", "conversation_id": "talk"}
    opening = client.activate("plan the trip", "see Skerry", scope=scope, axes=axes)
    session = Session(client, scope, opening.session_id, opening)
    written = client.remember([memory("fact", SKERRY)], scope=scope, session_id=session.session_id).results
    recorded = client.record_turns(
        [turn("Shall we?", name="Ada", msg_id="1"), turn("Aye.", name="Bo", msg_id="2")],
        scope=scope,
        session_id=session.session_id,
    ).results
    # Written beside the session, not in it.
    client.remember([memory("fact", "Mainland has three banks.")], scope=scope, axes=axes)
    session.cover(opening.retrieval_id)
    done = commit(session)
    assert (done.state, done.outcome) == (COMMITTED, common_pb2.OUTCOME_SUCCESS)
    assert (done.feedback_status, done.operation) == (
        session_pb2.FEEDBACK_STATUS_COMPLETE,
        session_pb2.COMMIT_OPERATION_CREATED,
    )
    keys, _ = keys_of(session.session_id)
    record = store_pb2.Record.FromString(stored.hget(keys.records, done.episode_id[3:]))
    assert record.content == "reach Skerry\ntook the early ferry"
    assert list(record.members) == [int(result.memory_id[4:]) for result in (*written, *recorded)]
    assert {name: getattr(record.axes, name) for name in axes} == axes
    answer = client.recall("Skerry by the early ferry", scope=scope, session_id=open_like(client, scope, axes))
    (episode,) = [hit for hit in hits(answer) if hit.kind == common_pb2.MEMORY_KIND_EPISODE]
    assert episode.memory_id == done.episode_id
    assert session.ledger().episode_id == done.episode_id


def open_like(client: Client, scope: str, axes: dict[str, str]) -> str:
    return client.activate("t", "g", scope=scope, axes=axes).session_id


def test_what_commit_was_told_is_kept(session: Session, stored: Any) -> None:
    session.cover(session.opening.retrieval_id)
    verification = session_pb2.Verification(
        status=session_pb2.VERIFICATION_STATUS_PARTIALLY_VERIFIED, summary="asked the crew", evidence_refs=["log:7"]
    )
    commit(session, outcome="partial", verification=verification)
    kept = outcome_of(stored, session)
    assert (kept.outcome, kept.verification) == (common_pb2.OUTCOME_PARTIAL, verification)
    assert (kept.final_goal, kept.outcome_summary) == ("reach Skerry", "took the early ferry")


ACTION, SEEN = session_pb2.TRAJECTORY_KIND_ACTION, session_pb2.TRAJECTORY_KIND_OBSERVATION


def test_s40_what_only_narrates_the_memory_s_own_calls_is_left_out_and_counted(session: Session, stored: Any) -> None:
    session.cover(session.opening.retrieval_id)
    told = [
        (ACTION, "Called recall"),
        (ACTION, "Fixed the recall tool test"),
        (ACTION, "Sent feedback."),
        (SEEN, "The ferry was full"),
    ]
    done = commit(
        session, trajectory=[session_pb2.TrajectoryEntry(kind=kind, summary=summary) for kind, summary in told]
    )
    assert done.trajectory_left_out == 2
    kept = outcome_of(stored, session).trajectory
    assert [entry.summary for entry in kept] == ["Fixed the recall tool test", "The ferry was full"]


def entries(*summaries: str) -> list[session_pb2.TrajectoryEntry]:
    return [session_pb2.TrajectoryEntry(kind=ACTION, summary=summary) for summary in summaries]


STEP = recall_pb2.ProcedureStep(summary="board at seven")
INVALID: dict[str, tuple[str, dict[str, Any]]] = {
    "s40 33 entries": ("trajectory", {"trajectory": entries(*["x"] * 33)}),
    "s40 1001 characters": ("trajectory[1].summary", {"trajectory": entries("x", "x" * 1001)}),
    "an entry of no kind": ("trajectory[0].kind", {"trajectory": [session_pb2.TrajectoryEntry(summary="x")]}),
    "goal too long": ("final_goal", {"final_goal": "x" * 4001}),
    "blank summary": ("outcome_summary", {"outcome_summary": "\u200b "}),
    "outcome unknown": ("outcome", {"outcome": 4}),
    "outcome from the future": ("outcome", {"outcome": 77}),
    "verification from the future": (
        "verification.status",
        {"verification": session_pb2.Verification(status=9)},  # type: ignore[arg-type]
    ),
    "33 references": (
        "verification.evidence_refs",
        {"verification": session_pb2.Verification(evidence_refs=["r"] * 33)},
    ),
    "a procedure without steps": ("procedure.steps", {"procedure": session_pb2.ProcedureInput(summary="s")}),
    "a procedure without summary": ("procedure.summary", {"procedure": session_pb2.ProcedureInput(steps=[STEP])}),
    "s22 a blank step": (
        "procedure.steps[0].summary",
        {"procedure": session_pb2.ProcedureInput(summary="s", steps=[recall_pb2.ProcedureStep(summary=" "), STEP])},
    ),
    "65 steps": ("procedure.steps", {"procedure": session_pb2.ProcedureInput(summary="s", steps=[STEP] * 65)}),
    "17 caveats": (
        "procedure.caveats",
        {"procedure": session_pb2.ProcedureInput(summary="s", steps=[STEP], caveats=["c"] * 17)},
    ),
    "a long caveat": (
        "procedure.caveats[0]",
        {"procedure": session_pb2.ProcedureInput(summary="s", steps=[STEP], caveats=["c" * 1001])},
    ),
    "request id": ("request_id", {"request_id": "x" * 65}),
}


@pytest.mark.parametrize("name", INVALID)
def test_s22_a_wrong_field_is_named_and_the_corrected_commit_succeeds(session: Session, name: str) -> None:
    field, more = INVALID[name]
    session.cover(session.opening.retrieval_id)
    with pytest.raises(InvalidArgument) as refused:
        commit(session, **more)
    assert refused.value.violations[0].field == field
    assert commit(session).state == COMMITTED


@pytest.mark.essential
def test_s24_a_second_commit_renews_the_one_record_of_the_first(client: Client, session: Session, stored: Any) -> None:
    session.cover(session.opening.retrieval_id)
    first = commit(session)
    opened_at = episodes(session)[0].recorded_at
    second = commit(session, outcome="failure", outcome_summary="the ferry sank")
    assert second.operation == session_pb2.COMMIT_OPERATION_UPDATED
    assert (second.state, second.outcome) == (COMMITTED, common_pb2.OUTCOME_FAILURE)
    assert second.episode_id == first.episode_id
    (episode,) = episodes(session)
    assert episode.content == "reach Skerry\nthe ferry sank"
    # C19: the old text is not found any more; the record itself keeps its age.
    assert episode.recorded_at == opened_at
    ledger = session.ledger()
    assert (ledger.outcome, ledger.outcome_summary) == (common_pb2.OUTCOME_FAILURE, "the ferry sank")
    assert outcome_of(stored, session).outcome_summary == "the ferry sank"


def test_a_second_commit_brings_nothing_back(client: Client, session: Session, stored: Any) -> None:
    """An episode that was declared STALE stays so; one that was forgotten is not made again."""
    session.cover(session.opening.retrieval_id)
    first = commit(session)
    look = client.activate("t", "g", scope=session.scope)
    answer = client.recall("reach Skerry", scope=session.scope, session_id=look.session_id)
    stale = session_pb2.MemoryFeedback(
        memory_id=first.episode_id,
        assessment=session_pb2.MEMORY_ASSESSMENT_STALE,
        stale_reason=common_pb2.STALE_REASON_CONTRADICTED,
        reason="never happened",
    )
    assert client.feedback(answer.retrieval_id, memory_feedback=[stale]).results[0].applied.staled == 1
    assert commit(session, outcome_summary="walked").episode_id == first.episode_id
    assert episodes(session) == []
    keys, _ = keys_of(session.session_id)
    stored.hdel(keys.records, first.episode_id[3:])
    assert commit(session, outcome_summary="swam").episode_id == ""
    assert stored.hlen(keys.records) == 0


def test_a_commit_counts_records_written_until_the_very_end(
    client: Client, scope: str, open_session: OpenSession, stored: Any
) -> None:
    """Every write that was credited to a session is a member of its episode, also beside a commit."""
    for attempt in range(8):
        session = open_session()
        session.cover(session.opening.retrieval_id)
        acknowledged: list[str] = []

        def write(session: Session = session, acknowledged: list[str] = acknowledged, attempt: int = attempt) -> None:
            for i in range(5):
                try:
                    result = client.remember(
                        [memory("fact", f"Entry {i} of log {attempt}.")], scope=scope, session_id=session.session_id
                    )
                except ClientError:
                    return
                acknowledged.append(result.results[0].memory_id)

        with ThreadPoolExecutor(2) as pool:
            writing = pool.submit(write)
            done = pool.submit(commit, session).result()
            writing.result()
        keys, _ = keys_of(session.session_id)
        record = store_pb2.Record.FromString(stored.hget(keys.records, done.episode_id[3:]))
        assert [f"sch_{n}" for n in record.members] == acknowledged


def test_a_session_may_have_used_and_assessed_more_than_one_command_reads(
    client: Client, session: Session, stored: Any
) -> None:
    """A long session exposes some ten thousand procedures and memories: it can be committed and its traces erased."""
    session.cover(session.opening.retrieval_id)
    keys, ref = keys_of(session.session_id)
    many = range(10**6, 10**6 + 10_000)
    stored.sadd(keys.used_procedures(ref.ledger), *many)
    rows = [store_pb2.FeedbackRow(memory=memory_feedback(f"sch_{n}", "used", reason="a word")) for n in many]
    stored.hset(keys.ledger(ref.ledger), "f:aaaaaaaaaaaaaaaa", store_pb2.FeedbackLog(rows=rows).SerializeToString())
    done = commit(session)
    stored.sadd(keys.commented(number_of(done.episode_id)), f"{ref.ledger}:aaaaaaaaaaaaaaaa")
    assert client.forget(done.episode_id, scope=session.scope).forgotten == 1
    assert b"a word" not in stored.hget(keys.ledger(ref.ledger), "f:aaaaaaaaaaaaaaaa")
