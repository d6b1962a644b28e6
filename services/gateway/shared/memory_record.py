"""A stored record as lists and GetContents show it."""

from __future__ import annotations

from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import record_id
from remembrancer.v1 import common_pb2, record_pb2

PREVIEW: Final = 500
"""Code points of a memory that hits and lists show."""

KINDS: Final = {
    store_pb2.RECORD_KIND_OBSERVATION: common_pb2.MEMORY_KIND_OBSERVATION,
    store_pb2.RECORD_KIND_TURN: common_pb2.MEMORY_KIND_TURN,
    store_pb2.RECORD_KIND_EPISODE: common_pb2.MEMORY_KIND_EPISODE,
    store_pb2.RECORD_KIND_PROCEDURE: common_pb2.MEMORY_KIND_UNSPECIFIED,
}


def memory_record(
    n: int, record: store_pb2.Record, *, preview: int | None = None, recalls: int = 0, embedded: bool = True
) -> record_pb2.MemoryRecord:
    """Return record N; `preview` bounds the content in code points, None = whole."""
    content = record.content if preview is None else record.content[:preview]
    return record_pb2.MemoryRecord(
        memory_id=record_id(record.kind, n),
        content=content,
        content_truncated=len(content) < len(record.content),
        content_length=len(record.content),
        kind=KINDS[record.kind],
        type=record.type,
        status=record.status,
        stale_reason=record.stale_reason,
        stale_text=record.stale_text,
        replaced_by=record.replaced_by,
        suppressed=record.suppressed,
        role=record.role,
        name=record.name,
        msg_id=record.msg_id,
        axes=record.axes,
        occurred_at=record.occurred_at,
        recorded_at=record.recorded_at,
        time_uncertain=record.time_uncertain,
        source=record.source if record.HasField("source") else None,
        origin_scope=record.origin_scope,
        session_id=record.session_id,
        members=record.members,
        recall_count=recalls,
        embedded=embedded,
    )
