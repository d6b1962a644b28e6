"""Stored records for tests of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.internal.v1 import store_pb2
from remembrancer.store.reader import StoredRecord
from remembrancer.v1 import common_pb2
from tests.records import DAY, NOW
from workers.deep.graph import Graph


def entity(label: str) -> store_pb2.Entity:
    return store_pb2.Entity(entity_id=f"ent_{label.lower()}", label=label)


def stored(
    n: int,
    *entities: str,
    conversation: str = "",
    session: str = "",
    turn: bool = True,
    replaced_by: int = 0,
    used_with: Iterable[tuple[int, int]] = (),
    terms: Sequence[str] = (),
    user: str = "",
) -> StoredRecord:
    """Record N with its entities; `used_with` holds (other N, days before NOW), each a retrieval of its own."""
    kind = store_pb2.RECORD_KIND_TURN if turn else store_pb2.RECORD_KIND_OBSERVATION
    record = store_pb2.Record(
        kind=kind,
        content=f"record {n}",
        axes=common_pb2.Axes(agent_id="default-agent"),
        occurred_at=Timestamp(seconds=NOW + n),
        recorded_at=Timestamp(seconds=NOW + n),
        status=common_pb2.MEMORY_STATUS_ACTIVE,
        replaced_by=replaced_by,
        session_id=session,
        analysis=store_pb2.Analysis(terms=list(terms), entities=[entity(label) for label in entities]),
    )
    if conversation:
        record.axes.conversation_id = conversation
    if user:
        record.axes.user_id = user
    together = [
        store_pb2.UsedTogether(other=other, retrieval_id=f"ret_{i}", at=Timestamp(seconds=NOW - days * DAY))
        for i, (other, days) in enumerate(used_with)
    ]
    learned = store_pb2.Learned(used_together=together) if together else None
    return StoredRecord(n=n, record=record, vectors=None, learned=learned)


def erased(n: int) -> StoredRecord:
    return StoredRecord(n=n, record=None, vectors=None, learned=None)


def graph_of(*records: StoredRecord) -> Graph:
    graph = Graph()
    for record in records:
        graph.apply(record)
    return graph
