"""No bytes in the store keep a tier from taking in a partition's other records."""

from __future__ import annotations

import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.store.reader import decode_stored
from remembrancer.v1 import common_pb2
from tests.records import NOW
from tests.unit.deep.records import stored
from workers.deep.partition import DeepPartition
from workers.deep.search import search
from workers.index.model import Model

MODEL = Model("test", 8)
UNIT = np.eye(1, MODEL.dimension, dtype="<f2").tobytes()


def whole() -> tuple[bytes, bytes]:
    """Return a stored record that uses what a tier reads, and what feedback taught about it."""
    state = stored(
        1, "Biscuit", "Moritz", conversation="c", session="s", replaced_by=2, used_with=[(2, 1)], terms=["a"]
    )
    assert state.record is not None
    assert state.learned is not None
    state.record.name = "Dana"
    state.record.type = common_pb2.MEMORY_TYPE_FACT
    state.record.stale_reason = common_pb2.STALE_REASON_SUPERSEDED
    state.record.procedure.context["language"] = {"deep": [1, None, "x"]}
    state.learned.helped = 1
    return state.record.SerializeToString(), state.learned.SerializeToString()


RECORD, LEARNED = whole()


@st.composite
def damaged(draw: st.DrawFn, raw: bytes) -> bytes:
    """Overwrite some bytes, and cut or lengthen the end."""
    hit = bytearray(raw)
    for at, value in draw(st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=4)):
        hit[at] = value
    return bytes(hit[: draw(st.integers(len(raw) // 2, len(raw)))] + draw(st.binary(max_size=4)))


def ask(partition: DeepPartition) -> tier_pb2.SearchResponse:
    request = tier_pb2.SearchRequest(
        query=store_pb2.Analysis(terms=["a"], entities=[store_pb2.Entity(entity_id="ent_biscuit", label="Biscuit")]),
        filter=tier_pb2.Filter(axes=common_pb2.Axes(agent_id="default-agent")),
        as_of=Timestamp(seconds=NOW),
        depth=5,
        procedures=3,
        model_id=MODEL.id,
        query_vector=UNIT,
    )
    request.task_context["language"] = "go"
    partition.index.procedures(request)
    return search(partition, request, lambda: None)


@given(damaged(RECORD), damaged(UNIT), damaged(LEARNED))
@settings(max_examples=200, deadline=None)
def test_c21_p33_whatever_stands_in_the_store_the_other_records_are_found(
    record: bytes, vectors: bytes, learned: bytes
) -> None:
    partition = DeepPartition(MODEL)
    partition.apply(decode_stored(1, record, vectors, learned, MODEL.dimension))
    partition.apply(stored(2, "Biscuit", terms=["a"]))
    assert 2 in [candidate.n for candidate in ask(partition).direct]


NUMBERS = st.integers(-(2**31), 2**31 - 1)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
@settings(max_examples=50, deadline=None)
def test_d27_enum_numbers_that_are_not_known_yet_are_taken_in(kind: int, type_: int, status: int, reason: int) -> None:
    state = store_pb2.Record.FromString(RECORD)
    state.kind, state.type = store_pb2.RecordKind.ValueType(kind), common_pb2.MemoryType.ValueType(type_)
    state.status, state.stale_reason = (
        common_pb2.MemoryStatus.ValueType(status),
        common_pb2.StaleReason.ValueType(reason),
    )
    partition = DeepPartition(MODEL)
    partition.apply(decode_stored(1, state.SerializeToString(), UNIT, LEARNED, MODEL.dimension))
    partition.apply(stored(2, "Biscuit", terms=["a"]))
    assert 2 in [candidate.n for candidate in ask(partition).direct]
