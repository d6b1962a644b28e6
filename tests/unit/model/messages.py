"""Short ways to make the ledger's messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.feedback import Lookup
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2

USED = session_pb2.MEMORY_ASSESSMENT_USED
IRRELEVANT = session_pb2.MEMORY_ASSESSMENT_IRRELEVANT
ALREADY_KNOWN = session_pb2.MEMORY_ASSESSMENT_ALREADY_KNOWN
NOT_USED = session_pb2.MEMORY_ASSESSMENT_NOT_USED
STALE = session_pb2.MEMORY_ASSESSMENT_STALE
UNASSESSABLE = session_pb2.MEMORY_ASSESSMENT_UNASSESSABLE

HELPED = session_pb2.MEMORY_EFFECT_HELPED
NO_EFFECT = session_pb2.MEMORY_EFFECT_NO_EFFECT
HARMED = session_pb2.MEMORY_EFFECT_HARMED

COMPLETE = session_pb2.COVERAGE_DECLARATION_COMPLETE


def memory(target: str, assessment: int = USED, **more: object) -> session_pb2.MemoryFeedback:
    return session_pb2.MemoryFeedback(memory_id=target, assessment=assessment, **more)  # type: ignore[arg-type]


def procedure(
    target: str, assessment: int = session_pb2.PROCEDURE_ASSESSMENT_USED, **more: object
) -> session_pb2.ProcedureFeedback:
    return session_pb2.ProcedureFeedback(procedure_id=target, assessment=assessment, **more)  # type: ignore[arg-type]


def used_procedure(
    target: str, effect: int = recall_pb2.PROCEDURE_EFFECT_HELPED, contribution: str = "the order of the steps"
) -> session_pb2.ProcedureFeedback:
    return procedure(target, effect=effect, contribution=contribution)


def item(
    *entries: session_pb2.MemoryFeedback | session_pb2.ProcedureFeedback, complete: bool = False, remaining: int = 0
) -> session_pb2.FeedbackItem:
    return session_pb2.FeedbackItem(
        retrieval_id="ret",
        memory_feedback=[e for e in entries if isinstance(e, session_pb2.MemoryFeedback)],
        procedure_feedback=[e for e in entries if isinstance(e, session_pb2.ProcedureFeedback)],
        coverage=COMPLETE if complete else session_pb2.COVERAGE_DECLARATION_UNSPECIFIED,
        remaining=session_pb2.MemoryAssessment.ValueType(remaining),
    )


def at(seconds: int) -> Timestamp:
    return Timestamp(seconds=seconds)


def row(entry: session_pb2.MemoryFeedback | session_pb2.ProcedureFeedback, seconds: int = 0) -> store_pb2.FeedbackRow:
    if isinstance(entry, session_pb2.MemoryFeedback):
        return store_pb2.FeedbackRow(memory=entry, at=at(seconds))
    return store_pb2.FeedbackRow(procedure=entry, at=at(seconds))


def retrieval(exposed: Iterable[str]) -> store_pb2.Retrieval:
    return store_pb2.Retrieval(caller="local", exposed=exposed)


def observation(status: int = common_pb2.MEMORY_STATUS_ACTIVE) -> store_pb2.Record:
    return store_pb2.Record(
        kind=store_pb2.RECORD_KIND_OBSERVATION, status=common_pb2.MemoryStatus.ValueType(status), content="a statement"
    )


def among(records: Mapping[int, store_pb2.Record]) -> Lookup:
    return records.get


def nothing(n: int) -> store_pb2.Record | None:
    return None
