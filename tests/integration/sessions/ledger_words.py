"""What the ledger machine says about what it was shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remembrancer.client import memory_feedback, procedure_feedback
from remembrancer.model.ids import is_procedure
from remembrancer.v1 import recall_pb2, session_pb2

COMPLETE = session_pb2.COVERAGE_DECLARATION_COMPLETE
PARTIAL = session_pb2.COVERAGE_DECLARATION_PARTIAL
STALE = session_pb2.MEMORY_ASSESSMENT_STALE

OF_MEMORIES: Sequence[dict[str, Any]] = (
    {"assessment": "not_used"},
    {"assessment": "used"},
    {"assessment": "irrelevant"},
    {"assessment": "used", "effect": "harmed"},
    {"assessment": "already_known"},
    {"assessment": "unassessable", "reason": "it was cut off"},
    {"assessment": "used", "effect": "no_effect"},
    {"assessment": "stale", "stale_reason": "outdated", "reason": "the kiln was sold"},
)
"""Every assessment of a memory, each in a form that is accepted."""

OF_PROCEDURES: Sequence[dict[str, Any]] = (
    {"assessment": "not_used"},
    {"assessment": "used", "effect": "helped", "contribution": "it said when to stop"},
    {"assessment": "used", "effect": "harmed", "contribution": "it cracked a pot"},
    {"assessment": "unassessable", "reason": "there was no time"},
)

OF_THE_REST = ("", "not_used", "irrelevant", "already_known")
"""What `remaining` can say; "" = nothing."""


def item(
    retrieval: str, targets: Sequence[str] = (), said: int = 0, *, complete: bool = False, remaining: str = ""
) -> session_pb2.FeedbackItem:
    """Return feedback on these targets: the first is assessed by the words at place `said`, the next by those after."""
    words = [(target, said + i) for i, target in enumerate(targets)]
    return session_pb2.FeedbackItem(
        retrieval_id=retrieval,
        memory_feedback=[
            memory_feedback(target, **OF_MEMORIES[i % len(OF_MEMORIES)])
            for target, i in words
            if not is_procedure(target)
        ],
        procedure_feedback=[
            procedure_feedback(target, **OF_PROCEDURES[i % len(OF_PROCEDURES)])
            for target, i in words
            if is_procedure(target)
        ],
        coverage=COMPLETE if complete else PARTIAL,
        remaining=session_pb2.MemoryAssessment.Value(f"MEMORY_ASSESSMENT_{(remaining or 'unspecified').upper()}"),
    )


def stale_in(given: session_pb2.FeedbackItem) -> set[str]:
    """Return the targets that a feedback declares stale."""
    return {entry.memory_id for entry in given.memory_feedback if entry.assessment == STALE}


def single(given: session_pb2.FeedbackItem) -> dict[str, Any]:
    """Return the arguments of the single form."""
    return {
        "memory_feedback": list(given.memory_feedback),
        "procedure_feedback": list(given.procedure_feedback),
        "coverage": given.coverage,
        "remaining": given.remaining,
    }


def lasting(answer: Any) -> Any:
    """Return an answer without what later feedback changes in its repetition: what was said of procedures."""
    if isinstance(answer, recall_pb2.RecallResponse | recall_pb2.RecallWithContextResponse):
        for procedure in answer.procedures:
            for name in ("evidence", "contributions", "outcome", "outcome_summary", "caveats"):
                procedure.ClearField(name)
        answer.ClearField("usage")  # It counts those texts.
    return answer
