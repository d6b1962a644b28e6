"""Puts a record with its vector into a change."""

from __future__ import annotations

from remembrancer.internal.v1 import store_pb2
from remembrancer.store.change import Allocated, Change
from remembrancer.store.reader import FeedOp
from services.gateway.encoding import Encoded


def put_record(change: Change, n: int | Allocated, record: store_pb2.Record, text: Encoded, model_id: str) -> None:
    """Add the writes for a record: new (`n` allocated) or in the place of an older state.

    `model_id` is the store's current model. Without vectors the record waits in `unembedded`, and a vector of its
    earlier text goes.
    """
    keys = change.keys
    record.analysis.CopyFrom(text.analysis)
    change.write("HSET", keys.records, n, record.SerializeToString())
    if text.vectors:
        change.write("HSET", keys.vectors(model_id), n, text.vectors)
        change.write("SREM", keys.unembedded, n)
    else:
        change.write("HDEL", keys.vectors(model_id), n)
        change.write("SADD", keys.unembedded, n)
    change.announce(FeedOp.RECORD, n)
