"""A record on its way out of one scope and into another."""

from __future__ import annotations

from remembrancer.internal.v1 import store_pb2
from remembrancer.store import decode
from remembrancer.v1 import common_pb2, record_pb2, transfer_pb2
from services.gateway.shared.memory_record import memory_record


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


def incoming(kind: int, memory: record_pb2.MemoryRecord, details: store_pb2.TransferDetails) -> store_pb2.Record:
    """Return the record that is stored for a checked one of an import."""
    return store_pb2.Record(
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
