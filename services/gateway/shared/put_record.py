"""Puts a record with its vector into a change."""

from __future__ import annotations

from remembrancer.internal.v1 import store_pb2
from remembrancer.store.change import Allocated, Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.vector_sets import VectorSets
from services.gateway.search.encoding import Encoded


def put_record(
    change: Change, n: int | Allocated, record: store_pb2.Record, text: Encoded, model_id: str, sets: VectorSets
) -> None:
    """Add the writes for a record: new (`n` allocated) or in the place of an older state.

    `model_id` is the model that encoded the text, `sets` are those that the change requires. What the current model did
    not encode waits in `unembedded`. A vector of its earlier text goes.
    """
    record.analysis.CopyFrom(text.analysis)
    change.write("HSET", change.keys.records, n, record.SerializeToString())
    sets.put(change, n, text.vectors, model_id)
    change.announce(FeedOp.RECORD, n)
