"""Evidence: the raw records behind the memories of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import record_id
from remembrancer.v1 import recall_pb2

EVIDENCE_MAX: Final = 8
EVIDENCE_LENGTH: Final = 1000


def evidence_of(
    ns: Sequence[int], records: Mapping[int, store_pb2.Record], mode: recall_pb2.EvidenceMode.ValueType
) -> tuple[list[recall_pb2.Evidence], bool]:
    """Return evidence of the memories `ns`, best first, and whether more existed.

    A turn and an observation are evidenced by the event that made them, which has the same N; an episode by itself.
    """
    return [_evidence(n, records[n], mode) for n in ns[:EVIDENCE_MAX]], len(ns) > EVIDENCE_MAX


def _evidence(n: int, record: store_pb2.Record, mode: recall_pb2.EvidenceMode.ValueType) -> recall_pb2.Evidence:
    episode = record.kind == store_pb2.RECORD_KIND_EPISODE
    evidence = recall_pb2.Evidence(
        evidence_id=record_id(store_pb2.RECORD_KIND_EPISODE if episode else store_pb2.RECORD_KIND_TURN, n),
        source_kind=recall_pb2.EVIDENCE_KIND_EPISODE if episode else recall_pb2.EVIDENCE_KIND_EVENT,
        recorded_at=record.recorded_at,
        occurred_at=record.occurred_at,
        source_ref=_source(record),
    )
    if mode == recall_pb2.EVIDENCE_MODE_FULL:
        evidence.content = record.content[:EVIDENCE_LENGTH]
        evidence.content_truncated = len(record.content) > EVIDENCE_LENGTH
    return evidence


def _source(record: store_pb2.Record) -> recall_pb2.SourceRef:
    if record.msg_id:
        return recall_pb2.SourceRef(kind="message", id=record.msg_id)
    if record.session_id:
        return recall_pb2.SourceRef(kind="session", id=record.session_id)
    return recall_pb2.SourceRef(kind=record.source.kind, id=record.source.integration)
