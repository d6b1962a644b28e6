"""A record on its way out of one scope and into another."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.axes import NAMES
from remembrancer.model.clock import check_timestamp
from remembrancer.model.errors import InvalidField
from remembrancer.model.ids import parse_record
from remembrancer.model.scope import AXIS_LENGTH, SCOPE_LENGTH
from remembrancer.model.text import bounded, require
from remembrancer.store import decode
from remembrancer.v1 import common_pb2, transfer_pb2
from services.gateway.requests import enums
from services.gateway.requests.limits import CONTENT_LENGTH, NAME_LENGTH, TEXT_LENGTH
from services.gateway.shared.memory_record import memory_record

FORMAT: Final = 1
SEARCHED_LENGTH: Final = 80_000
"""Code points of the searched text of a procedure: goal, summary and 64 steps."""


def outgoing(
    n: int, record: store_pb2.Record, vectors: bytes, learned: bytes | None, recalls: int, scope: str, *, embedded: bool
) -> transfer_pb2.TransferRecord:
    """Return record N as it is exported from `scope`."""
    memory = memory_record(n, record, recalls=recalls, embedded=embedded)
    memory.origin_scope = record.origin_scope or scope
    details = store_pb2.TransferDetails(
        analysis=record.analysis,
        procedure=record.procedure if record.HasField("procedure") else None,
        learned=decode.message(store_pb2.Learned, learned),
        duplicate=record.duplicate,
    )
    return transfer_pb2.TransferRecord(
        memory=memory, vectors=vectors, details=details.SerializeToString(deterministic=True)
    )


def incoming(given: transfer_pb2.TransferRecord, field: str) -> tuple[int, store_pb2.Record, store_pb2.TransferDetails]:
    """Return (N, record, details) of an imported record. Errors: InvalidField under `field`."""
    memory = given.memory
    parsed = parse_record(memory.memory_id)
    if parsed is None:
        raise InvalidField(f"{field}.memory.memory_id", "is not an id")
    kind, n = parsed
    try:
        details = store_pb2.TransferDetails.FromString(given.details)
    except DecodeError:
        raise InvalidField(f"{field}.details", "are not those of an export") from None
    procedure = kind == store_pb2.RECORD_KIND_PROCEDURE
    require(f"{field}.memory.content", memory.content, SEARCHED_LENGTH if procedure else CONTENT_LENGTH)
    for name, enum in (
        ("type", common_pb2.MemoryType),
        ("status", common_pb2.MemoryStatus),
        ("stale_reason", common_pb2.StaleReason),
    ):
        enums.known(f"{field}.memory.{name}", enum, getattr(memory, name))
    for name, limit in (
        ("stale_text", TEXT_LENGTH), ("role", NAME_LENGTH), ("name", NAME_LENGTH), ("msg_id", NAME_LENGTH),
        ("origin_scope", SCOPE_LENGTH), ("session_id", AXIS_LENGTH),
    ):  # fmt: skip
        bounded(f"{field}.memory.{name}", getattr(memory, name), limit)
    for axis in NAMES:
        bounded(f"{field}.memory.axes.{axis}", getattr(memory.axes, axis), AXIS_LENGTH)
    for moment in ("occurred_at", "recorded_at"):
        check_timestamp(f"{field}.memory.{moment}", getattr(memory, moment))
    record = store_pb2.Record(
        kind=store_pb2.RecordKind.ValueType(kind),
        type=memory.type,
        content=memory.content,
        axes=memory.axes,
        role=memory.role,
        name=memory.name,
        msg_id=memory.msg_id,
        source=memory.source if memory.HasField("source") else None,
        origin_scope=memory.origin_scope,
        recorded_at=memory.recorded_at,
        occurred_at=memory.occurred_at,
        time_uncertain=memory.time_uncertain,
        status=memory.status or common_pb2.MEMORY_STATUS_ACTIVE,
        stale_reason=memory.stale_reason,
        stale_text=memory.stale_text,
        replaced_by=memory.replaced_by,
        analysis=details.analysis,
        session_id=memory.session_id,
        members=memory.members,
        procedure=details.procedure if details.HasField("procedure") else None,
        suppressed=memory.suppressed,
        duplicate=details.duplicate,
    )
    return n, record, details
