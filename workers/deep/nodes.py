"""What the graph keeps of one record."""

from __future__ import annotations

from dataclasses import dataclass

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import seconds
from remembrancer.store.reader import StoredRecord


@dataclass(frozen=True, slots=True)
class UsedWith:
    """One retrieval in which the record was used together with `other`; `at` in seconds since 1970."""

    other: int
    retrieval_id: str
    at: float


@dataclass(frozen=True, slots=True)
class RecordNode:
    """One record in the graph.

    `labels` maps the ids of its entities to how the record writes them. `thread` is the conversation it belongs to as
    (agent, conversation), None when it names no conversation. `session` is the ledger session that wrote it, "" for
    none. `replaced_by` is the N of the record that took its place, 0 for none. `used_with` is sorted.
    """

    n: int
    labels: dict[str, str]
    turn: bool
    thread: tuple[str, str] | None
    session: str
    replaced_by: int
    used_with: tuple[UsedWith, ...]


def node_of(stored: StoredRecord) -> RecordNode | None:
    """Return the record's node; None when it was erased or is a procedure, which graph search never returns."""
    record = stored.record
    if record is None or record.kind == store_pb2.RECORD_KIND_PROCEDURE:
        return None
    conversation = record.axes.conversation_id
    return RecordNode(
        n=stored.n,
        labels={e.entity_id: e.label for e in reversed(record.analysis.entities)},
        turn=record.kind == store_pb2.RECORD_KIND_TURN,
        thread=(record.axes.agent_id, conversation) if conversation else None,
        session=record.session_id,
        replaced_by=record.replaced_by,
        used_with=_used_with(stored.learned),
    )


def _used_with(learned: store_pb2.Learned | None) -> tuple[UsedWith, ...]:
    if learned is None:
        return ()
    rows = (UsedWith(u.other, u.retrieval_id, seconds(u.at)) for u in learned.used_together)
    return tuple(sorted(rows, key=lambda row: (row.other, row.retrieval_id, row.at)))
