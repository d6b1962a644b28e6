"""Records, vectors and requests for index tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp
from numpy.typing import NDArray

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.analysis import analyse, fold
from remembrancer.store.reader import StoredRecord
from remembrancer.v1 import common_pb2
from workers.index.model import Model
from workers.index.partition import PartitionIndex

DIMENSION = 32
MODEL = Model("test-model@1", DIMENSION)
NOW = 1_700_000_000

Vector = NDArray[np.float32]


def direction(name: str) -> Vector:
    """Return a unit vector of its own for each name."""
    rng = np.random.default_rng(list(name.encode()))
    vector = rng.standard_normal(DIMENSION)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def near(name: str, cosine: float, salt: str) -> Vector:
    """Return a unit vector at exactly that cosine from `direction(name)`."""
    target, other = direction(name), direction(salt)
    other = other - (other @ target) * target
    other /= np.linalg.norm(other)
    return np.asarray(cosine * target + np.sqrt(1 - cosine**2) * other, np.float32)


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
    """Return a turn, analysed with its speaker's name as the gateway does."""
    axes = {"conversation_id": conversation, **fields.pop("axes", {})}
    made = record(content, store_pb2.RECORD_KIND_TURN, name=name, role="user", axes=axes, **fields)
    made.analysis.CopyFrom(analyse(f"{name}: {content}"))
    return made


def stored(
    n: int, made: store_pb2.Record | None, vectors: Vector | None = None, learned: store_pb2.Learned | None = None
) -> StoredRecord:
    windows = None if vectors is None else np.atleast_2d(vectors)
    return StoredRecord(n, made, windows, learned)


def index(*states: StoredRecord, eight_bit: bool = False) -> PartitionIndex:
    made = PartitionIndex(MODEL, eight_bit)
    for state in states:
        made.apply(state)
    return made


def request(
    query: str = "",
    vector: Vector | None = None,
    depth: int = 10,
    axes: dict[str, Any] | None = None,
    speakers: Sequence[str] = (),
    **filters: Any,
) -> tier_pb2.SearchRequest:
    made = tier_pb2.SearchRequest(
        query=analyse(query),
        depth=depth,
        as_of=Timestamp(seconds=NOW),
        speakers=[fold(name) for name in speakers],
        filter=tier_pb2.Filter(axes=common_pb2.Axes(**{"agent_id": "default-agent", **(axes or {})}), **filters),
    )
    if vector is not None:
        made.model_id = MODEL.id
        made.query_vector = vector.astype("<f2").tobytes()
    return made


def ids(found: PartitionIndex, wanted: tier_pb2.SearchRequest) -> list[int]:
    return [candidate.n for candidate in found.search(wanted).candidates]


def state_of(found: PartitionIndex, wanted: tier_pb2.SearchRequest) -> list[tuple[int, float, float]]:
    """Return what a search says, to compare two indexes."""
    return [(c.n, c.relevance, c.bonus) for c in found.search(wanted).candidates]
