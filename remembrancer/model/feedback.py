"""What makes a feedback entry acceptable: pure checks of one assessment against what its retrieval exposed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import InvalidField
from remembrancer.model.ids import is_procedure, parse_record
from remembrancer.model.text import counted, is_blank, require
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2

TEXT_LENGTH: Final = 4000

ENTRIES: Final = 1000
"""Entries of one kind for one retrieval."""

ENTRIES_OF_CALL: Final = 10_000
"""Entries of one call, so that an answer that rejects them all stays small."""

Lookup = Callable[[int], store_pb2.Record | None]
"""Returns the record N of the retrieval's own partition, None when there is none."""

_REMAINING: Final = frozenset(
    {
        session_pb2.MEMORY_ASSESSMENT_UNSPECIFIED,
        session_pb2.MEMORY_ASSESSMENT_NOT_USED,
        session_pb2.MEMORY_ASSESSMENT_IRRELEVANT,
        session_pb2.MEMORY_ASSESSMENT_ALREADY_KNOWN,
    }
)


class Rejection(Exception):
    """Why one entry is not accepted: the reason, the field under the entry ("" = the entry), and what would be."""

    def __init__(self, reason: session_pb2.FeedbackRejection.ValueType, field: str, hint: str) -> None:
        super().__init__(hint)
        self.reason = reason
        self.field = field
        self.hint = hint


def check_size(items: Sequence[session_pb2.FeedbackItem]) -> None:
    """Check how much one call holds. Errors: InvalidField."""
    entries = sum(len(item.memory_feedback) + len(item.procedure_feedback) for item in items)
    if entries > ENTRIES_OF_CALL:
        raise InvalidField("items", f"must hold at most {ENTRIES_OF_CALL} entries in all, hold {entries}")


def check_item(item: session_pb2.FeedbackItem, prefix: str = "") -> None:
    """Check what belongs to the call and not to one entry. Errors: InvalidField with the path under `prefix`."""
    if not item.retrieval_id:
        raise InvalidField(f"{prefix}retrieval_id", "must not be blank")
    counted(f"{prefix}memory_feedback", item.memory_feedback, 0, ENTRIES)
    counted(f"{prefix}procedure_feedback", item.procedure_feedback, 0, ENTRIES)
    counted(f"{prefix}missing", item.missing, 0, 32)
    for i, text in enumerate(item.missing):
        require(f"{prefix}missing[{i}]", text, TEXT_LENGTH)
    if item.coverage not in session_pb2.CoverageDeclaration.values():
        raise InvalidField(f"{prefix}coverage", "must be PARTIAL or COMPLETE")
    if item.remaining not in _REMAINING:
        raise InvalidField(f"{prefix}remaining", "must be NOT_USED, IRRELEVANT or ALREADY_KNOWN")
    if item.retrieval_quality not in session_pb2.RetrievalQuality.values():
        raise InvalidField(f"{prefix}retrieval_quality", "must be GOOD, PARTIAL or POOR")


def check_memory(
    entry: session_pb2.MemoryFeedback, exposed: Collection[str], lookup: Lookup
) -> session_pb2.MemoryFeedback:
    """Return the entry as it is stored, with its defaults filled in. Errors: Rejection."""
    if entry.memory_id not in exposed or is_procedure(entry.memory_id):
        raise Rejection(
            session_pb2.FEEDBACK_REJECTION_TARGET_NOT_EXPOSED,
            "memory_id",
            "list it in procedure_feedback"
            if is_procedure(entry.memory_id)
            else "assess memories that this retrieval returned",
        )
    known = session_pb2.MemoryAssessment.values()
    if entry.assessment not in known or entry.assessment == session_pb2.MEMORY_ASSESSMENT_UNSPECIFIED:
        raise Rejection(
            session_pb2.FEEDBACK_REJECTION_ASSESSMENT_INVALID,
            "assessment",
            "one of USED, IRRELEVANT, ALREADY_KNOWN, NOT_USED, STALE, UNASSESSABLE",
        )
    stored = session_pb2.MemoryFeedback()
    stored.CopyFrom(entry)
    used = entry.assessment == session_pb2.MEMORY_ASSESSMENT_USED
    if entry.effect not in session_pb2.MemoryEffect.values() or (not used and entry.effect):
        raise Rejection(
            session_pb2.FEEDBACK_REJECTION_EFFECT_INVALID, "effect", "HELPED, NO_EFFECT or HARMED, and only with USED"
        )
    if used and not entry.effect:
        stored.effect = session_pb2.MEMORY_EFFECT_HELPED
    _check_reason(
        entry.reason,
        entry.assessment in (session_pb2.MEMORY_ASSESSMENT_STALE, session_pb2.MEMORY_ASSESSMENT_UNASSESSABLE),
    )
    if entry.assessment == session_pb2.MEMORY_ASSESSMENT_STALE:
        _check_stale(entry, lookup)
    elif entry.stale_reason:
        raise Rejection(session_pb2.FEEDBACK_REJECTION_STALE_REASON_INVALID, "stale_reason", "only with STALE")
    elif entry.replacement_memory_id:
        raise _wrong_replacement()
    return stored


def check_procedure(entry: session_pb2.ProcedureFeedback, exposed: Collection[str]) -> session_pb2.ProcedureFeedback:
    """Return the entry as it is stored. Errors: Rejection."""
    if entry.procedure_id not in exposed or not is_procedure(entry.procedure_id):
        raise Rejection(
            session_pb2.FEEDBACK_REJECTION_TARGET_NOT_EXPOSED,
            "procedure_id",
            "assess procedures that this retrieval returned",
        )
    known = session_pb2.ProcedureAssessment.values()
    if entry.assessment not in known or entry.assessment == session_pb2.PROCEDURE_ASSESSMENT_UNSPECIFIED:
        raise Rejection(
            session_pb2.FEEDBACK_REJECTION_ASSESSMENT_INVALID, "assessment", "one of USED, NOT_USED, UNASSESSABLE"
        )
    effects = recall_pb2.ProcedureEffect.values()
    if entry.assessment == session_pb2.PROCEDURE_ASSESSMENT_USED:
        if entry.effect not in effects or not entry.effect:
            raise Rejection(
                session_pb2.FEEDBACK_REJECTION_EFFECT_INVALID, "effect", "one of HELPED, NO_EFFECT, HARMED, UNKNOWN"
            )
        _require_words("contribution", entry.contribution, session_pb2.FEEDBACK_REJECTION_CONTRIBUTION_INVALID)
    else:
        if entry.effect:
            raise Rejection(session_pb2.FEEDBACK_REJECTION_EFFECT_INVALID, "effect", "only with USED")
        if entry.contribution:
            raise Rejection(session_pb2.FEEDBACK_REJECTION_CONTRIBUTION_INVALID, "contribution", "only with USED")
    _check_reason(entry.reason, entry.assessment == session_pb2.PROCEDURE_ASSESSMENT_UNASSESSABLE)
    stored = session_pb2.ProcedureFeedback()
    stored.CopyFrom(entry)
    return stored


def _check_stale(entry: session_pb2.MemoryFeedback, lookup: Lookup) -> None:
    if entry.stale_reason not in common_pb2.StaleReason.values() or not entry.stale_reason:
        raise Rejection(
            session_pb2.FEEDBACK_REJECTION_STALE_REASON_INVALID,
            "stale_reason",
            "one of CONTRADICTED, SUPERSEDED, OUTDATED, UNSUPPORTED, WITHDRAWN",
        )
    superseded = entry.stale_reason == common_pb2.STALE_REASON_SUPERSEDED
    if superseded != bool(entry.replacement_memory_id):
        raise _wrong_replacement()
    if superseded:
        _check_replacement(entry, lookup)


def _check_replacement(entry: session_pb2.MemoryFeedback, lookup: Lookup) -> None:
    target, replacement = parse_record(entry.memory_id), parse_record(entry.replacement_memory_id)
    if target is not None and replacement is not None and replacement[1] == target[1]:
        raise Rejection(
            session_pb2.FEEDBACK_REJECTION_REPLACEMENT_IS_SELF, "replacement_memory_id", "another memory's id"
        )
    record = lookup(replacement[1]) if replacement is not None else None
    if (
        replacement is None
        or record is None
        or record.kind != replacement[0]
        or is_procedure(entry.replacement_memory_id)
    ):
        raise Rejection(
            session_pb2.FEEDBACK_REJECTION_REPLACEMENT_NOT_FOUND,
            "replacement_memory_id",
            "a memory of the same scope",
        )
    if record.status != common_pb2.MEMORY_STATUS_ACTIVE:
        raise Rejection(
            session_pb2.FEEDBACK_REJECTION_REPLACEMENT_NOT_ACTIVE, "replacement_memory_id", "a memory that still holds"
        )


def _wrong_replacement() -> Rejection:
    return Rejection(
        session_pb2.FEEDBACK_REJECTION_REPLACEMENT_REQUIRED,
        "replacement_memory_id",
        "the id of the memory that took its place: with SUPERSEDED, and only then",
    )


def _check_reason(reason: str, required: bool) -> None:
    if required or reason:
        _require_words("reason", reason, session_pb2.FEEDBACK_REJECTION_REASON_INVALID)


def _require_words(field: str, text: str, reason: session_pb2.FeedbackRejection.ValueType) -> None:
    if is_blank(text) or len(text) > TEXT_LENGTH:
        raise Rejection(reason, field, f"1 to {TEXT_LENGTH} characters, not blank")
