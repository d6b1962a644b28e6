"""Procedures as they are shown, and as Commit records them."""

from __future__ import annotations

from typing import Any, Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.scope import AXIS_LENGTH
from remembrancer.model.task_context import check_context, to_struct
from remembrancer.model.text import bounded, counted, require
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from services.gateway.limits import TEXT_LENGTH

SHOWN_USES: Final = 3
CAUTION: Final = "Caution: this procedure failed the last time it was used."


def procedure_of(
    n: int, relevance: float, record: store_pb2.Record, learned: store_pb2.Learned | None
) -> recall_pb2.Procedure:
    """Return a procedure with its tallies, its latest outcome, and a caution when that was a failure."""
    body, known = record.procedure, learned or store_pb2.Learned()
    outcome, outcome_summary = body.outcome, body.outcome_summary
    settled = [use for use in known.uses if use.outcome != common_pb2.OUTCOME_UNKNOWN]
    if settled:
        outcome, outcome_summary = settled[-1].outcome, settled[-1].outcome_summary
    caveats = list(body.caveats)
    if outcome == common_pb2.OUTCOME_FAILURE:
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


def procedure_record(
    given: session_pb2.ProcedureInput, goal: str, context: dict[str, Any], outcome: store_pb2.SessionOutcome
) -> store_pb2.Record:
    """Return the record of a procedure; its searched text is goal, summary and steps."""
    steps = [step.summary for step in given.steps]
    return store_pb2.Record(
        kind=store_pb2.RECORD_KIND_PROCEDURE,
        content="\n".join((goal, given.summary, *steps)),
        status=common_pb2.MEMORY_STATUS_ACTIVE,
        procedure=store_pb2.ProcedureBody(
            goal=goal,
            summary=given.summary,
            context=to_struct(context),
            steps=steps,
            caveats=given.caveats,
            deduplication_key=given.deduplication_key,
            outcome=outcome.outcome,
            outcome_summary=outcome.outcome_summary,
        ),
    )
