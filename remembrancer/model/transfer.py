"""Rules for what an import takes: the header of an export, its batches, and every record in them.

The gateway checks each part before it stores it; the command checks a whole file by the same rules before it sends any
of it. All functions raise InvalidField with the path of the field.
"""

from __future__ import annotations

import re
from typing import Any, Final

from google.protobuf.message import DecodeError

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.analysis_entities import MAX_ENTITIES, MAX_LABEL
from remembrancer.model.analysis_terms import MAX_TERM
from remembrancer.model.axes import check_axes
from remembrancer.model.clock import check_timestamp
from remembrancer.model.errors import InvalidField
from remembrancer.model.ids import parse_record
from remembrancer.model.learning import EDGES_KEPT, USES_KEPT
from remembrancer.model.limits import (
    CAVEATS,
    CONTENT_LENGTH,
    NAME_LENGTH,
    PROCEDURE_LENGTH,
    STEP_LENGTH,
    STEPS,
    TEXT_LENGTH,
)
from remembrancer.model.scope import AXIS_LENGTH, SCOPE_LENGTH
from remembrancer.model.task_context import check_context
from remembrancer.model.text import bounded, counted, require
from remembrancer.v1 import common_pb2, recall_pb2, transfer_pb2

FORMAT: Final = 1
BATCH_RECORDS: Final = 100

LAST_NUMBER_MAX: Final = 500_000_000
"""The largest sequence number that is imported.

A scope's numbers say how often it was written to, not how much it holds: one whose older records were forgotten has few
records and large numbers. A scope that is written to ten times a second gets here after a year and a half.
"""

COUNT_MAX: Final = 500_000_000
"""The largest count of feedback rows that is imported; the sum of four such counts fits into an int32."""

RECALLS_MAX: Final = 10**15

TERMS_PER_CHARACTER: Final = 40
"""Unicode's compatibility forms make up to 18 characters of one, and a character makes up to two terms."""

_DUPLICATE: Final = re.compile(r"[a-z2-7]{26}")
_COUNTS: Final = ("helped", "no_effect", "harmed", "unknown", "not_used")


def check_header(header: transfer_pb2.TransferHeader, field: str) -> None:
    """Check the header of an export."""
    if header.format != FORMAT:
        raise InvalidField(f"{field}.format", f"must be {FORMAT}")
    _in_range(f"{field}.last_number", header.last_number, 0, LAST_NUMBER_MAX)
    _in_range(f"{field}.records", header.records, 0, header.last_number)
    for name in ("scope", "model_id"):
        bounded(f"{field}.{name}", getattr(header, name), NAME_LENGTH)


def check_batch(
    batch: transfer_pb2.TransferBatch, last: int, after: int, field: str
) -> list[tuple[int, int, store_pb2.TransferDetails]]:
    """Return kind, N and details of each record of a batch.

    `last` is the header's last number, `after` the `upto` of the batch before, 0 for the first one.
    """
    counted(f"{field}.records", batch.records, 0, BATCH_RECORDS)
    _in_range(f"{field}.upto", batch.upto, after, last)
    found: list[tuple[int, int, store_pb2.TransferDetails]] = []
    previous = after
    for i, entry in enumerate(batch.records):
        path = f"{field}.records[{i}]"
        kind, n = parse_record(entry.memory.memory_id) or (0, 0)
        if not n:
            raise InvalidField(f"{path}.memory.memory_id", "is not an id")
        if not previous < n <= batch.upto:
            raise InvalidField(f"{path}.memory.memory_id", "numbers must ascend, over all batches, up to `upto`")
        previous = n
        found.append((kind, n, _checked_record(entry, kind, n, last, path)))
    return found


def _checked_record(
    entry: transfer_pb2.TransferRecord, kind: int, n: int, last: int, field: str
) -> store_pb2.TransferDetails:
    memory, path = entry.memory, f"{field}.memory"
    procedure = kind == store_pb2.RECORD_KIND_PROCEDURE
    require(f"{path}.content", memory.content, PROCEDURE_LENGTH if procedure else CONTENT_LENGTH)
    _known(f"{path}.type", common_pb2.MemoryType, memory.type, required=kind == store_pb2.RECORD_KIND_OBSERVATION)
    _known(f"{path}.status", common_pb2.MemoryStatus, memory.status)
    _known(f"{path}.stale_reason", common_pb2.StaleReason, memory.stale_reason)
    for name, limit in (
        ("stale_text", TEXT_LENGTH), ("role", NAME_LENGTH), ("name", NAME_LENGTH), ("msg_id", NAME_LENGTH),
        ("origin_scope", SCOPE_LENGTH), ("session_id", AXIS_LENGTH),
    ):  # fmt: skip
        bounded(f"{path}.{name}", getattr(memory, name), limit)
    for name in ("kind", "integration", "integration_version"):
        bounded(f"{path}.source.{name}", getattr(memory.source, name), NAME_LENGTH)
    check_axes(memory.axes, field=f"{path}.axes")
    for moment in ("occurred_at", "recorded_at"):
        check_timestamp(f"{path}.{moment}", getattr(memory, moment))
    _in_range(f"{path}.recall_count", memory.recall_count, 0, RECALLS_MAX)
    _in_range(f"{path}.replaced_by", memory.replaced_by, 0, last)
    counted(f"{path}.members", memory.members, 0, last)
    for i, member in enumerate(memory.members):
        _in_range(f"{path}.members[{i}]", member, 1, last)
    return _checked_details(entry, n, last, f"{field}.details", procedure=procedure)


def _checked_details(
    entry: transfer_pb2.TransferRecord, n: int, last: int, field: str, *, procedure: bool
) -> store_pb2.TransferDetails:
    try:
        details = store_pb2.TransferDetails.FromString(entry.details)
    except DecodeError:
        raise InvalidField(field, "are not those of an export") from None
    if details.HasField("procedure") != procedure:
        raise InvalidField(f"{field}.procedure", "must be there for a procedure, and for nothing else")
    if procedure:
        _check_procedure(details.procedure, f"{field}.procedure")
    if details.duplicate and not _DUPLICATE.fullmatch(details.duplicate):
        raise InvalidField(f"{field}.duplicate", "is not that of an export")
    _check_analysis(details.analysis, len(entry.memory.content) + len(entry.memory.name), f"{field}.analysis")
    _check_learned(details.learned, n, last, f"{field}.learned")
    return details


def _check_procedure(body: store_pb2.ProcedureBody, field: str) -> None:
    for name in ("goal", "summary"):
        require(f"{field}.{name}", getattr(body, name), TEXT_LENGTH)
    counted(f"{field}.steps", body.steps, 1, STEPS)
    counted(f"{field}.caveats", body.caveats, 0, CAVEATS)
    for name in ("steps", "caveats"):
        for i, text in enumerate(getattr(body, name)):
            require(f"{field}.{name}[{i}]", text, STEP_LENGTH)
    bounded(f"{field}.deduplication_key", body.deduplication_key, AXIS_LENGTH)
    check_context(body.context, f"{field}.context")
    _check_outcome(body, field)


def _check_analysis(analysis: store_pb2.Analysis, length: int, field: str) -> None:
    counted(f"{field}.terms", analysis.terms, 0, TERMS_PER_CHARACTER * (length + 1))
    counted(f"{field}.entities", analysis.entities, 0, MAX_ENTITIES)
    for i, term in enumerate(analysis.terms):
        bounded(f"{field}.terms[{i}]", term, MAX_TERM)
    for i, entity in enumerate(analysis.entities):
        bounded(f"{field}.entities[{i}].entity_id", entity.entity_id, NAME_LENGTH)
        bounded(f"{field}.entities[{i}].label", entity.label, MAX_LABEL)


def _check_learned(learned: store_pb2.Learned, n: int, last: int, field: str) -> None:
    for name in _COUNTS:
        _in_range(f"{field}.{name}", getattr(learned, name), 0, COUNT_MAX)
    counted(f"{field}.used_together", learned.used_together, 0, EDGES_KEPT)
    for i, edge in enumerate(learned.used_together):
        # An edge is kept with the lower number of its two records.
        _in_range(f"{field}.used_together[{i}].other", edge.other, n + 1, last)
        bounded(f"{field}.used_together[{i}].retrieval_id", edge.retrieval_id, NAME_LENGTH)
        check_timestamp(f"{field}.used_together[{i}].at", edge.at)
    counted(f"{field}.uses", learned.uses, 0, USES_KEPT)
    for i, use in enumerate(learned.uses):
        path = f"{field}.uses[{i}]"
        _known(f"{path}.effect", recall_pb2.ProcedureEffect, use.effect)
        bounded(f"{path}.contribution", use.contribution, TEXT_LENGTH)
        for name in ("retrieval_id", "session_id"):
            bounded(f"{path}.{name}", getattr(use, name), NAME_LENGTH)
        check_timestamp(f"{path}.at", use.at)
        _check_outcome(use, path)


def _check_outcome(part: store_pb2.ProcedureBody | store_pb2.ProcedureUse, field: str) -> None:
    _known(f"{field}.outcome", common_pb2.Outcome, part.outcome)
    bounded(f"{field}.outcome_summary", part.outcome_summary, TEXT_LENGTH)


def _in_range(field: str, number: int, low: int, high: int) -> None:
    if not low <= number <= high:
        raise InvalidField(field, f"must be {low} to {high}, is {number}")


def _known(field: str, enum: Any, number: int, *, required: bool = False) -> None:
    if number not in enum.values() or (required and not number):
        raise InvalidField(field, "is not a number of this enum")
