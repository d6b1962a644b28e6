"""Records as the gateway writes them."""

from __future__ import annotations

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.analysis import analyse
from remembrancer.v1 import common_pb2

NOW = 1_700_000_000
DAY = 86_400


def record(content: str, kind: int = store_pb2.RECORD_KIND_OBSERVATION, **fields: Any) -> store_pb2.Record:
    """Return an active record; `axes`, `occurred` (seconds) and any field of Record can be set."""
    axes = fields.pop("axes", {})
    occurred = fields.pop("occurred", NOW)
    made = store_pb2.Record(
        kind=store_pb2.RecordKind.ValueType(kind),
        content=content,
        status=common_pb2.MEMORY_STATUS_ACTIVE,
        occurred_at=Timestamp(seconds=occurred),
        recorded_at=Timestamp(seconds=NOW),
        analysis=analyse(content),
    )
    made.axes.CopyFrom(common_pb2.Axes(**{"agent_id": "default-agent", **axes}))
    made.MergeFrom(store_pb2.Record(**fields))
    return made


def turn(content: str, name: str = "Ann", conversation: str = "c", **fields: Any) -> store_pb2.Record:
    """Return a turn, analysed with its speaker's name."""
    axes = {"conversation_id": conversation, **fields.pop("axes", {})}
    made = record(content, store_pb2.RECORD_KIND_TURN, name=name, role="user", axes=axes, **fields)
    made.analysis.CopyFrom(analyse(f"{name}: {content}"))
    return made
