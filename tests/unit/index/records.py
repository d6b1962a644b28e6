"""Records, vectors and requests for index tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.analysis import analyse
from remembrancer.model.text import fold
from remembrancer.store.reader import StoredRecord
from remembrancer.v1 import common_pb2
from tests import vectors
from tests.records import NOW
from tests.vectors import Vector
from workers.index.model import Model
from workers.index.partition import PartitionIndex

DIMENSION = 32
MODEL = Model("test-model@1", DIMENSION)


def direction(name: str) -> Vector:
    """Return a unit vector of its own for each name."""
    return vectors.direction(name, DIMENSION)


def near(name: str, cosine: float, salt: str) -> Vector:
    """Return a unit vector at exactly that cosine from `direction(name)`."""
    return vectors.near(direction(name), cosine, salt)


def stored(
    n: int, made: store_pb2.Record | None, windows: Vector | None = None, learned: store_pb2.Learned | None = None
) -> StoredRecord:
    return StoredRecord(n, made, None if windows is None else np.atleast_2d(windows), learned)


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
        made.query_vector = vectors.stored(vector)
    return made


def ids(found: PartitionIndex, wanted: tier_pb2.SearchRequest) -> list[int]:
    return [candidate.n for candidate in found.search(wanted).candidates]


def state_of(found: PartitionIndex, wanted: tier_pb2.SearchRequest) -> list[tuple[int, float, float]]:
    """Return what a search says, to compare two indexes."""
    return [(c.n, c.relevance, c.bonus) for c in found.search(wanted).candidates]
