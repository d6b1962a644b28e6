"""Procedures: made by commit, shown where they fit, judged by feedback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from remembrancer.client import Client, procedure_feedback
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from tests.service import Session, answered

SUCCESS, FAILURE, UNKNOWN = common_pb2.OUTCOME_SUCCESS, common_pb2.OUTCOME_FAILURE, common_pb2.OUTCOME_UNKNOWN
GOAL = "Restore the billing database from its nightly backup"
QUESTION = "restore the billing database from backup"


def how(summary: str = "Stop writers, restore, check row counts", **more: Any) -> session_pb2.ProcedureInput:
    steps = [recall_pb2.ProcedureStep(summary=step) for step in ("Stop the writers", "Restore the dump", "Count rows")]
    return session_pb2.ProcedureInput(**{"summary": summary, "steps": steps, **more})


@dataclass(frozen=True)
class Desk:
    """Opens and ends sessions of one scope."""

    client: Client
    scope: str

    def open(self, task: str = "something else", **more: Any) -> Session:
        opening = self.client.activate(task, "to see it pass", scope=self.scope, **more)
        return Session(self.client, self.scope, opening.session_id, opening)

    def commit(
        self, session: Session, outcome: str = "success", ending: str = "it held", **more: Any
    ) -> session_pb2.CommitResponse:
        given = {"final_goal": GOAL, "outcome": outcome, "outcome_summary": ending, **more}
        return self.client.commit(session.session_id, scope=self.scope, **given)

    def make(self, outcome: str = "success", ending: str = "it held", **more: Any) -> str:
        """Return the id of a procedure made by a session of its own."""
        session = self.open(task_context=more.pop("task_context", None))
        self.cover(session)
        return self.commit(session, outcome, ending, procedure=how(**more)).procedure_id

    def cover(self, session: Session) -> None:
        """Cover what the session was shown and did not assess, as not used."""
        for retrieval in session.ledger().retrievals:
            procedures = [target for target in retrieval.uncovered.outstanding if target.startswith("proc_")]
            self.client.feedback(
                retrieval.retrieval_id,
                procedure_feedback=[procedure_feedback(target, "not_used") for target in procedures],
                remaining="not_used",
                coverage="complete",
            )

    def shown(self, question: str = QUESTION, mode: str = "active", **more: Any) -> list[recall_pb2.Procedure]:
        """Return the procedures that a new session is shown."""
        return list(self.open(**more).recall(question, mode).procedures)

    def use(self, session: Session, procedure: str, effect: str = "helped", contribution: str = "the order") -> str:
        """Have a session use a procedure; return the retrieval that showed it."""
        answer = session.recall(QUESTION)
        assert procedure in [shown.procedure_id for shown in answer.procedures]
        self.judge(answer.retrieval_id, procedure, effect, contribution)
        return answer.retrieval_id

    def judge(self, retrieval: str, procedure: str, effect: str, contribution: str = "the order") -> None:
        entry = procedure_feedback(procedure, "used", effect=effect, contribution=contribution)
        result = self.client.feedback(retrieval, procedure_feedback=[entry]).results[0]
        assert (result.accepted, result.applied.procedures) == (1, 1)


@pytest.fixture
def desk(client: Client, scope: str) -> Desk:
    return Desk(client, scope)


def test_a_procedure_comes_back_whole_by_its_meaning(desk: Desk) -> None:
    caveats = ["Never restore over the live volume. " * 25, "Tell support."]
    made = desk.make(caveats=caveats, summary="x" * 4000)
    for mode in ("active", "deep"):
        (procedure,) = desk.shown("bring billing data back after a crash from last night's dump", mode)
        assert procedure.procedure_id == made
        assert (procedure.goal, procedure.summary) == (GOAL, "x" * 4000)
        assert [step.summary for step in procedure.steps] == ["Stop the writers", "Restore the dump", "Count rows"]
        assert list(procedure.caveats) == caveats
        assert (procedure.outcome, procedure.outcome_summary) == (SUCCESS, "it held")
        assert procedure.evidence == recall_pb2.ProcedureEvidence()
        assert list(procedure.contributions) == []
        assert 0 < procedure.relevance <= 1
    assert desk.shown("who waters the plants on Friday?") == []
    # It is no memory: only the episode of its session is among the hits.
    answer = desk.open().recall(QUESTION)
    assert [hit.kind for hit in answer.hits.observations] == [common_pb2.MEMORY_KIND_EPISODE]


def test_procedures_must_be_assessed_and_remaining_does_not_do_it(desk: Desk) -> None:
    made = desk.make()
    session = desk.open(task=GOAL)
    assert [procedure.procedure_id for procedure in session.opening.procedures] == [made]
    result = session.cover(session.opening.retrieval_id)
    assert list(result.outstanding) == [made]
    assert result.coverage == session_pb2.COVERAGE_PARTIAL
    unassessable = procedure_feedback(made, "unassessable", reason="cut off")
    result = desk.client.feedback(
        session.opening.retrieval_id, procedure_feedback=[unassessable], coverage="complete"
    ).results[0]
    assert result.coverage == session_pb2.COVERAGE_COMPLETE


def test_s18_a_flawed_procedure_entry_is_rejected_alone_and_a_resend_mends_it(desk: Desk) -> None:
    made = desk.make()
    session = desk.open()
    answer = session.recall(QUESTION)
    (episode,) = answer.hits.observations
    sibling = session_pb2.MemoryFeedback(memory_id=episode.memory_id, assessment=session_pb2.MEMORY_ASSESSMENT_USED)
    for entry, reason, field in (
        (procedure_feedback(made, "used", effect="helped"), "CONTRIBUTION_INVALID", "contribution"),
        (procedure_feedback(made, "not_used", effect="helped"), "EFFECT_INVALID", "effect"),
        (procedure_feedback(made, 99), "ASSESSMENT_INVALID", "assessment"),
    ):
        result = answered(
            desk.client,
            answer.retrieval_id,
            memory_feedback=[sibling],
            procedure_feedback=[entry],
            coverage="complete",
        )
        rejected, refused = result.rejected
        assert rejected.reason == session_pb2.FeedbackRejection.Value(f"FEEDBACK_REJECTION_{reason}")
        assert (rejected.target_id, rejected.field) == (made, f"procedure_feedback[0].{field}")
        assert refused.reason == session_pb2.FEEDBACK_REJECTION_INCOMPLETE_COVERAGE
        assert result.accepted == 1
    entry = procedure_feedback(made, "used", effect="helped", contribution="the order")
    result = desk.client.feedback(answer.retrieval_id, procedure_feedback=[entry], coverage="complete").results[0]
    assert result.coverage == session_pb2.COVERAGE_COMPLETE


@pytest.mark.essential
def test_s20_help_lifts_and_one_harm_outweighs_it_even_after_the_commit(desk: Desk) -> None:
    first, second = desk.make(), desk.make()
    assert [p.procedure_id for p in desk.shown()] == [first, second]
    session = desk.open()
    retrieval = desk.use(session, second, "helped")
    assert [p.procedure_id for p in desk.shown()] == [second, first]
    desk.cover(session)
    desk.commit(session)
    other = desk.open()
    harmed = other.recall(QUESTION).retrieval_id
    desk.cover(other)
    desk.commit(other)
    desk.judge(harmed, second, "harmed")
    assert [p.procedure_id for p in desk.shown()] == [first, second]
    # Ordered, never hidden, never admitted.
    assert desk.shown("who waters the plants on Friday?") == []
    desk.judge(retrieval, second, "no_effect")
    assert [p.evidence.harmed for p in desk.shown()] == [0, 1]


def test_s21_one_that_failed_comes_with_its_outcome_and_a_caution(desk: Desk) -> None:
    desk.make("failure", "the dump was empty", caveats=["Check the size first."])
    (procedure,) = desk.shown()
    assert (procedure.outcome, procedure.outcome_summary) == (FAILURE, "the dump was empty")
    assert any("caution" in caveat.lower() for caveat in procedure.caveats)
    assert "Check the size first." in procedure.caveats


def test_a_use_gets_its_session_s_outcome_when_that_commits(desk: Desk) -> None:
    made = desk.make("failure", "the dump was empty")
    session = desk.open()
    desk.use(session, made, "helped", "told me what to stop")
    (procedure,) = desk.shown()
    # The latest use is under way: its end is not known, and the caution stands.
    assert (procedure.outcome, procedure.outcome_summary) == (UNKNOWN, "")
    assert any("caution" in caveat.lower() for caveat in procedure.caveats)
    (use,) = procedure.contributions
    assert (use.effect, use.contribution) == (recall_pb2.PROCEDURE_EFFECT_HELPED, "told me what to stop")
    assert use.outcome == UNKNOWN
    desk.cover(session)
    desk.commit(session, "success", "all rows are back")
    (procedure,) = desk.shown()
    assert (procedure.outcome, procedure.outcome_summary) == (SUCCESS, "all rows are back")
    assert list(procedure.caveats) == []
    assert [(u.outcome, u.outcome_summary) for u in procedure.contributions] == [(SUCCESS, "all rows are back")]
    # So does a second commit's.
    desk.commit(session, "failure", "half of them vanished")
    (procedure,) = desk.shown()
    assert (procedure.outcome, procedure.contributions[0].outcome_summary) == (FAILURE, "half of them vanished")


@pytest.mark.essential
def test_feedback_after_the_commit_has_the_session_s_outcome_at_once(desk: Desk) -> None:
    made = desk.make()
    session = desk.open()
    retrieval = session.recall(QUESTION).retrieval_id
    desk.cover(session)
    desk.commit(session, "partial", "two tables are missing")
    desk.judge(retrieval, made, "no_effect")
    (procedure,) = desk.shown()
    assert (procedure.outcome, procedure.outcome_summary) == (common_pb2.OUTCOME_PARTIAL, "two tables are missing")
    desk.commit(session, "success", "found them")
    (procedure,) = desk.shown()
    assert procedure.contributions[0].outcome_summary == "found them"


def test_tallies_and_the_three_latest_contributions(desk: Desk) -> None:
    made = desk.make()
    effects = ["helped", "no_effect", "harmed", "unknown"]
    sessions = [desk.open() for _ in effects]
    for session, effect in zip(sessions, effects, strict=True):
        desk.use(session, made, effect, f"it {effect}")
    idle = desk.open()
    idle.recall(QUESTION)
    desk.cover(idle)
    (procedure,) = desk.shown()
    assert procedure.evidence == recall_pb2.ProcedureEvidence(
        used=4, not_used=1, helped=1, no_effect=1, harmed=1, unknown=1
    )
    assert [use.contribution for use in procedure.contributions] == ["it unknown", "it harmed", "it no_effect"]
    moments = [use.occurred_at.ToNanoseconds() for use in procedure.contributions]
    assert moments == sorted(moments, reverse=True)
    # Another word on one of these uses replaces it.
    desk.client.feedback(
        sessions[2].ledger().retrievals[1].retrieval_id,
        procedure_feedback=[procedure_feedback(made, "not_used")],
    )
    (procedure,) = desk.shown()
    assert (procedure.evidence.used, procedure.evidence.harmed, procedure.evidence.not_used) == (3, 0, 2)
    assert [use.contribution for use in procedure.contributions] == ["it unknown", "it no_effect", "it helped"]


def test_contexts_must_agree_where_both_say_something(desk: Desk) -> None:
    made = desk.make(task_context={"region": "north", "ticket_id": "T-1"})
    assert [p.procedure_id for p in desk.shown(task_context={"region": "north", "ticket_id": "T-2"})] == [made]
    assert [p.procedure_id for p in desk.shown(task_context={"shift": "night"})] == [made]
    assert [p.procedure_id for p in desk.shown()] == [made]
    assert desk.shown(task_context={"region": "south"}) == []
    (procedure,) = desk.shown()
    assert dict(procedure.context) == {"region": "north", "ticket_id": "T-1"}


def test_of_one_deduplication_key_only_the_best_is_shown(desk: Desk) -> None:
    first = desk.make(deduplication_key="restore-billing")
    second = desk.make(deduplication_key="restore-billing")
    other = desk.make(deduplication_key="restore-invoices")
    assert [p.procedure_id for p in desk.shown()] == [first, other]
    session = desk.open()
    desk.use(session, first, "harmed")
    assert [p.procedure_id for p in desk.shown()] == [second, other]


def test_three_are_shown_at_most(desk: Desk) -> None:
    for _ in range(5):
        desk.make()
    assert len(desk.shown()) == 3


def test_s33_procedures_stay_in_their_scope(desk: Desk) -> None:
    desk.make()
    assert Desk(desk.client, f"{desk.scope}-beta").shown() == []


@pytest.mark.essential
def test_s24_a_second_commit_keeps_or_renews_the_procedure(desk: Desk) -> None:
    session = desk.open()
    desk.cover(session)
    first = desk.commit(session, procedure=how())
    kept = desk.commit(session, "failure", "it came back empty")
    assert kept.procedure_id == first.procedure_id
    (procedure,) = desk.shown()
    assert (procedure.procedure_id, procedure.outcome) == (first.procedure_id, FAILURE)
    assert procedure.summary == how().summary
    renewed = desk.commit(session, "success", "third time lucky", procedure=how("Use the weekly dump instead"))
    assert renewed.procedure_id == first.procedure_id
    (procedure,) = desk.shown()
    assert (procedure.summary, procedure.outcome) == ("Use the weekly dump instead", SUCCESS)
    assert session.ledger().procedure_id == first.procedure_id


def test_a_procedure_may_be_added_by_a_second_commit(desk: Desk) -> None:
    session = desk.open()
    desk.cover(session)
    assert desk.commit(session).procedure_id == ""
    assert desk.commit(session, procedure=how()).procedure_id.startswith("proc_")
    assert len(desk.shown()) == 1
