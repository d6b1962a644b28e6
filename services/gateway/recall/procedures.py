"""Procedures as they are shown, and as Commit records them."""

from __future__ import annotations

from typing import Any, Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.scope import AXIS_LENGTH
from remembrancer.model.task_context import check_context, to_struct
from remembrancer.model.text import bounded, counted, require
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from services.gateway.requests.limits import TEXT_LENGTH

SHOWN_USES: Final = 3
CAUTION: Final = "Caution: the last time that this was done, it failed."


def procedure_of(
    n: int, relevance: float, record: store_pb2.Record, learned: store_pb2.Learned | None
) -> recall_pb2.Procedure:
    """Return a procedure with its tallies, the outcome of its latest use, and a caution.

    The making is the first use. The caution stands while the last known outcome is a failure: a use whose session is
    still under way does not take it away.
    """
    body, known = record.procedure, learned or store_pb2.Learned()
    ends = [(body.outcome, body.outcome_summary), *((use.outcome, use.outcome_summary) for use in known.uses)]
    outcome, outcome_summary = ends[-1]
    last_known = next((end for end, _ in reversed(ends) if end != common_pb2.OUTCOME_UNKNOWN), outcome)
    caveats = list(body.caveats)
    if last_known == common_pb2.OUTCOME_FAILURE:
        caveats.insert(0, CAUTION)
    return recall_pb2.Procedure(
        procedure_id=f"proc_{n}",
        goal=body.goal,
        summary=body.summary,
        context=body.context,
        steps=[recall_pb2.ProcedureStep(summary=step) for step in body.steps],
        caveats=caveats,
        outcome=outcome,
        outcome_summary=outcome_summary,
        evidence=recall_pb2.ProcedureEvidence(
            used=known.helped + known.no_effect + known.harmed + known.unknown,
            not_used=known.not_used,
            helped=known.helped,
            no_effect=known.no_effect,
            harmed=known.harmed,
            unknown=known.unknown,
        ),
        contributions=[
            recall_pb2.ProcedureContribution(
                effect=use.effect,
                contribution=use.contribution,
                outcome=use.outcome,
                outcome_summary=use.outcome_summary,
                occurred_at=use.at,
            )
            for use in reversed(known.uses[-SHOWN_USES:])
        ],
        relevance=relevance,
    )


def check_procedure_input(given: session_pb2.ProcedureInput) -> dict[str, Any] | None:
    """Check the fields of a procedure; return its context, None when it gave none. Errors: InvalidField."""
    require("procedure.summary", given.summary, TEXT_LENGTH)
    counted("procedure.steps", given.steps, 1, 64)
    for i, step in enumerate(given.steps):
        require(f"procedure.steps[{i}].summary", step.summary, 1000)
    counted("procedure.caveats", given.caveats, 0, 16)
    for i, caveat in enumerate(given.caveats):
        require(f"procedure.caveats[{i}]", caveat, 1000)
    bounded("procedure.deduplication_key", given.deduplication_key, AXIS_LENGTH)
    return check_context(given.context, "procedure.context") if given.HasField("context") else None


def searched_text(given: session_pb2.ProcedureInput, goal: str) -> str:
    """Return the text by which a procedure is found: goal, summary and steps."""
    return "\n".join((goal, given.summary, *(step.summary for step in given.steps)))


def procedure_body(
    given: session_pb2.ProcedureInput, goal: str, context: dict[str, Any], outcome: store_pb2.SessionOutcome
) -> store_pb2.ProcedureBody:
    """Return what is stored of a procedure beside its text."""
    return store_pb2.ProcedureBody(
        goal=goal,
        summary=given.summary,
        context=to_struct(context),
        steps=[step.summary for step in given.steps],
        caveats=given.caveats,
        deduplication_key=given.deduplication_key,
        outcome=outcome.outcome,
        outcome_summary=outcome.outcome_summary,
    )
