"""Procedures as Commit takes and records them."""

from __future__ import annotations

from typing import Any

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.limits import CAVEATS, STEP_LENGTH, STEPS, TEXT_LENGTH
from remembrancer.model.scope import AXIS_LENGTH
from remembrancer.model.task_context import check_context, to_struct
from remembrancer.model.text import bounded, counted, require
from remembrancer.v1 import session_pb2


def check_procedure_input(given: session_pb2.ProcedureInput) -> dict[str, Any] | None:
    """Check the fields of a procedure; return its context, None when it gave none. Errors: InvalidField."""
    require("procedure.summary", given.summary, TEXT_LENGTH)
    counted("procedure.steps", given.steps, 1, STEPS)
    for i, step in enumerate(given.steps):
        require(f"procedure.steps[{i}].summary", step.summary, STEP_LENGTH)
    counted("procedure.caveats", given.caveats, 0, CAVEATS)
    for i, caveat in enumerate(given.caveats):
        require(f"procedure.caveats[{i}]", caveat, STEP_LENGTH)
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
