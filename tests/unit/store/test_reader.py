"""What a tier worker makes of stored bytes, whole and damaged."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.internal.v1 import store_pb2
from remembrancer.store import decode
from remembrancer.store.reader import decode_stored, decode_vectors

DIMENSION = 8
KIND = store_pb2.RECORD_KIND_OBSERVATION
RECORD = store_pb2.Record(kind=KIND, content="the falcon code is 7713")
LEARNED = store_pb2.Learned(helped=2)
UNIT = np.eye(1, DIMENSION, dtype="<f2").tobytes()
UNDECODABLE = b"\x0a\xff"


def test_what_is_whole_comes_as_it_was_stored() -> None:
    found = decode_stored(7, RECORD.SerializeToString(), 2 * UNIT, LEARNED.SerializeToString(), DIMENSION)
    assert (found.n, found.record, found.learned, found.damaged) == (7, RECORD, LEARNED, False)
    assert found.vectors is not None
    assert found.vectors.tolist() == np.eye(1, DIMENSION).repeat(2, 0).tolist()


def test_what_is_not_stored_is_no_damage() -> None:
    found = decode_stored(7, None, None, None, DIMENSION)
    assert (found.record, found.vectors, found.learned, found.damaged) == (None, None, None, False)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x01\x02\x03",
        UNIT[:-2],
        np.zeros(DIMENSION, "<f2").tobytes(),
        np.full(DIMENSION, np.nan, "<f2").tobytes(),
        np.full(DIMENSION, np.inf, "<f2").tobytes(),
        UNIT + np.full(DIMENSION, 60000, "<f2").tobytes(),
        np.full(2 * DIMENSION, (2 * DIMENSION) ** -0.5, "<f2").tobytes(),
    ],
    ids=["empty", "odd", "short", "zero", "nan", "infinite", "one window of two", "of a model twice as wide"],
)
def test_c21_p33_a_damaged_vector_leaves_the_record(raw: bytes) -> None:
    assert decode_vectors(raw, DIMENSION) == (None, True)
    found = decode_stored(7, RECORD.SerializeToString(), raw, LEARNED.SerializeToString(), DIMENSION)
    assert (found.record, found.vectors, found.learned, found.damaged) == (RECORD, None, LEARNED, True)


def test_vectors_of_any_direction_are_whole_after_rounding() -> None:
    rows = np.random.default_rng(1).standard_normal((500, 384))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    vectors, damaged = decode_vectors(rows.astype("<f2").tobytes(), 384)
    assert not damaged
    assert vectors is not None
    assert vectors.shape == (500, 384)


@pytest.mark.parametrize(
    "raw",
    [
        UNDECODABLE,
        RECORD.SerializeToString()[:-1],
        store_pb2.Record(kind=KIND, occurred_at=Timestamp(seconds=2**62)).SerializeToString(),
        store_pb2.Record(kind=KIND, recorded_at=Timestamp(nanos=-1)).SerializeToString(),
        store_pb2.Record(content="of no kind").SerializeToString(),
        store_pb2.Record(kind=store_pb2.RecordKind.ValueType(99)).SerializeToString(),
    ],
    ids=["undecodable", "cut", "time beyond the years", "time with a bad fraction", "no kind", "unknown kind"],
)
def test_c21_p33_an_unreadable_record_is_damaged_and_not_there(raw: bytes) -> None:
    found = decode_stored(7, raw, UNIT, None, DIMENSION)
    assert (found.record, found.damaged) == (None, True)
    assert decode.record(raw) is None


def test_c21_p33_unreadable_feedback_leaves_the_record() -> None:
    found = decode_stored(7, RECORD.SerializeToString(), UNIT, UNDECODABLE, DIMENSION)
    assert (found.record, found.learned, found.damaged) == (RECORD, None, True)
    assert found.vectors is not None
