"""Which single entries are accepted, and what is said about those that are not."""

from __future__ import annotations

import pytest

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import InvalidField
from remembrancer.model.feedback import (
    ENTRIES_OF_CALL,
    Rejection,
    check_item,
    check_memory,
    check_procedure,
    check_size,
)
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from tests.unit.model.messages import (
    ALREADY_KNOWN,
    HELPED,
    IRRELEVANT,
    NOT_USED,
    STALE,
    UNASSESSABLE,
    USED,
    among,
    item,
    memory,
    nothing,
    observation,
    procedure,
    used_procedure,
)

EXPOSED = ["sch_1", "evt_2", "proc_3"]
SUPERSEDED = common_pb2.STALE_REASON_SUPERSEDED
OUTDATED = common_pb2.STALE_REASON_OUTDATED
RECORDS = {
    1: observation(),
    2: store_pb2.Record(kind=store_pb2.RECORD_KIND_TURN, status=common_pb2.MEMORY_STATUS_ACTIVE),
    4: observation(),
    5: observation(common_pb2.MEMORY_STATUS_STALE),
    6: store_pb2.Record(kind=store_pb2.RECORD_KIND_PROCEDURE, status=common_pb2.MEMORY_STATUS_ACTIVE),
}


@pytest.mark.parametrize("assessment", [USED, IRRELEVANT, ALREADY_KNOWN, NOT_USED])
def test_plain_assessments_need_nothing_more(assessment: int) -> None:
    assert check_memory(memory("sch_1", assessment), EXPOSED, nothing).assessment == assessment


def test_a_use_helped_unless_told_otherwise() -> None:
    assert check_memory(memory("sch_1"), EXPOSED, nothing).effect == HELPED
    harmed = memory("evt_2", effect=session_pb2.MEMORY_EFFECT_HARMED)
    assert check_memory(harmed, EXPOSED, nothing).effect == session_pb2.MEMORY_EFFECT_HARMED


def test_stale_and_unassessable_with_all_they_need() -> None:
    for good in (
        memory("sch_1", STALE, stale_reason=OUTDATED, reason="moved away"),
        memory("sch_1", STALE, stale_reason=SUPERSEDED, reason="moved", replacement_memory_id="sch_4"),
        memory("sch_1", UNASSESSABLE, reason="cut off"),
        memory("sch_1", UNASSESSABLE, reason="x" * 4000),
        memory("sch_1", USED, reason="optional"),
    ):
        assert check_memory(good, EXPOSED, among(RECORDS)).reason == good.reason


MEMORY_REJECTIONS = {
    "s10 never shown": (memory("sch_9"), "TARGET_NOT_EXPOSED", "memory_id"),
    "a procedure": (memory("proc_3"), "TARGET_NOT_EXPOSED", "memory_id"),
    "no id": (memory(""), "TARGET_NOT_EXPOSED", "memory_id"),
    "no assessment": (memory("sch_1", 0), "ASSESSMENT_INVALID", "assessment"),
    "s17 unknown assessment": (memory("sch_1", 42), "ASSESSMENT_INVALID", "assessment"),
    "unknown effect": (memory("sch_1", effect=42), "EFFECT_INVALID", "effect"),
    "effect without use": (memory("sch_1", NOT_USED, effect=HELPED), "EFFECT_INVALID", "effect"),
    "s13 stale without words": (memory("sch_1", STALE, stale_reason=OUTDATED), "REASON_INVALID", "reason"),
    "stale with blank words": (
        memory("sch_1", STALE, stale_reason=OUTDATED, reason=" \u200b"),
        "REASON_INVALID",
        "reason",
    ),
    "words too long": (memory("sch_1", USED, reason="x" * 4001), "REASON_INVALID", "reason"),
    "unassessable without words": (memory("sch_1", UNASSESSABLE), "REASON_INVALID", "reason"),
    "s13 stale without reason": (memory("sch_1", STALE, reason="r"), "STALE_REASON_INVALID", "stale_reason"),
    "s13 unknown stale reason": (
        memory("sch_1", STALE, stale_reason=42, reason="r"),
        "STALE_REASON_INVALID",
        "stale_reason",
    ),
    "stale reason without stale": (
        memory("sch_1", USED, stale_reason=OUTDATED),
        "STALE_REASON_INVALID",
        "stale_reason",
    ),
    "s13 superseded by nothing": (
        memory("sch_1", STALE, stale_reason=SUPERSEDED, reason="r"),
        "REPLACEMENT_REQUIRED",
        "replacement_memory_id",
    ),
    "outdated by something": (
        memory("sch_1", STALE, stale_reason=OUTDATED, reason="r", replacement_memory_id="sch_4"),
        "REPLACEMENT_REQUIRED",
        "replacement_memory_id",
    ),
    "replacement without stale": (
        memory("sch_1", USED, replacement_memory_id="sch_4"),
        "REPLACEMENT_REQUIRED",
        "replacement_memory_id",
    ),
}


@pytest.mark.parametrize("name", MEMORY_REJECTIONS)
def test_s13_a_bad_memory_entry_says_what_to_mend(name: str) -> None:
    entry, reason, field = MEMORY_REJECTIONS[name]
    with pytest.raises(Rejection) as rejected:
        check_memory(entry, EXPOSED, among(RECORDS))
    assert rejected.value.reason == session_pb2.FeedbackRejection.Value(f"FEEDBACK_REJECTION_{reason}")
    assert rejected.value.field == field
    assert rejected.value.hint


@pytest.mark.parametrize(
    ("replacement", "reason"),
    [
        ("sch_1", "REPLACEMENT_IS_SELF"),
        ("evt_1", "REPLACEMENT_IS_SELF"),  # the raw record of the same write
        ("sch_77", "REPLACEMENT_NOT_FOUND"),
        ("evt_4", "REPLACEMENT_NOT_FOUND"),  # N is there, but is no turn
        ("proc_6", "REPLACEMENT_NOT_FOUND"),
        ("something", "REPLACEMENT_NOT_FOUND"),
        ("sch_5", "REPLACEMENT_NOT_ACTIVE"),
    ],
)
def test_s13_a_replacement_must_exist_hold_and_be_another(replacement: str, reason: str) -> None:
    entry = memory("sch_1", STALE, stale_reason=SUPERSEDED, reason="r", replacement_memory_id=replacement)
    with pytest.raises(Rejection) as rejected:
        check_memory(entry, EXPOSED, among(RECORDS))
    assert rejected.value.reason == session_pb2.FeedbackRejection.Value(f"FEEDBACK_REJECTION_{reason}")
    assert rejected.value.field == "replacement_memory_id"


PROCEDURE_NOT_USED = session_pb2.PROCEDURE_ASSESSMENT_NOT_USED
PROCEDURE_REJECTIONS = {
    "never shown": (used_procedure("proc_9"), "TARGET_NOT_EXPOSED", "procedure_id"),
    "a memory": (used_procedure("sch_1"), "TARGET_NOT_EXPOSED", "procedure_id"),
    "unknown assessment": (procedure("proc_3", 42), "ASSESSMENT_INVALID", "assessment"),
    "used without effect": (procedure("proc_3", contribution="c"), "EFFECT_INVALID", "effect"),
    "unknown effect": (procedure("proc_3", effect=42, contribution="c"), "EFFECT_INVALID", "effect"),
    "s18 used without contribution": (
        used_procedure("proc_3", contribution=""),
        "CONTRIBUTION_INVALID",
        "contribution",
    ),
    "contribution too long": (
        used_procedure("proc_3", contribution="x" * 4001),
        "CONTRIBUTION_INVALID",
        "contribution",
    ),
    "s18 not used but helped": (
        procedure("proc_3", PROCEDURE_NOT_USED, effect=recall_pb2.PROCEDURE_EFFECT_HELPED),
        "EFFECT_INVALID",
        "effect",
    ),
    "not used but contributed": (
        procedure("proc_3", PROCEDURE_NOT_USED, contribution="c"),
        "CONTRIBUTION_INVALID",
        "contribution",
    ),
    "unassessable without words": (
        procedure("proc_3", session_pb2.PROCEDURE_ASSESSMENT_UNASSESSABLE),
        "REASON_INVALID",
        "reason",
    ),
    "words too long": (procedure("proc_3", PROCEDURE_NOT_USED, reason="x" * 4001), "REASON_INVALID", "reason"),
}


@pytest.mark.parametrize("name", PROCEDURE_REJECTIONS)
def test_s18_a_bad_procedure_entry_says_what_to_mend(name: str) -> None:
    entry, reason, field = PROCEDURE_REJECTIONS[name]
    with pytest.raises(Rejection) as rejected:
        check_procedure(entry, EXPOSED)
    assert rejected.value.reason == session_pb2.FeedbackRejection.Value(f"FEEDBACK_REJECTION_{reason}")
    assert rejected.value.field == field
    assert rejected.value.hint


def test_good_procedure_entries() -> None:
    for good in (
        used_procedure("proc_3"),
        used_procedure("proc_3", recall_pb2.PROCEDURE_EFFECT_UNKNOWN),
        procedure("proc_3", PROCEDURE_NOT_USED),
        procedure("proc_3", session_pb2.PROCEDURE_ASSESSMENT_UNASSESSABLE, reason="cut off"),
    ):
        assert check_procedure(good, EXPOSED) == good


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("retrieval_id", session_pb2.FeedbackItem()),
        ("missing", session_pb2.FeedbackItem(retrieval_id="r", missing=["m"] * 33)),
        ("missing[1]", session_pb2.FeedbackItem(retrieval_id="r", missing=["m", " "])),
        ("missing[0]", session_pb2.FeedbackItem(retrieval_id="r", missing=["m" * 4001])),
        ("coverage", session_pb2.FeedbackItem(retrieval_id="r", coverage=9)),  # type: ignore[arg-type]
        ("remaining", session_pb2.FeedbackItem(retrieval_id="r", remaining=USED)),
        ("remaining", session_pb2.FeedbackItem(retrieval_id="r", remaining=9)),  # type: ignore[arg-type]
        ("retrieval_quality", session_pb2.FeedbackItem(retrieval_id="r", retrieval_quality=9)),  # type: ignore[arg-type]
        ("memory_feedback", session_pb2.FeedbackItem(retrieval_id="r", memory_feedback=[memory("sch_1")] * 1001)),
    ],
)
def test_what_belongs_to_the_call_fails_the_call(field: str, bad: session_pb2.FeedbackItem) -> None:
    with pytest.raises(InvalidField) as refused:
        check_item(bad, "items[3].")
    assert refused.value.violations[0].field == f"items[3].{field}"


def test_one_call_holds_so_many_entries() -> None:
    full = [item(*[memory("sch_1")] * 1000) for _ in range(ENTRIES_OF_CALL // 1000)]
    check_size(full)
    with pytest.raises(InvalidField):
        check_size([*full, item(used_procedure("proc_1"))])
