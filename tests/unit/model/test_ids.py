"""Ids and what they carry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import (
    RetrievalRef,
    SessionRef,
    is_continuity,
    new_continuity,
    new_token,
    parse_record,
    parse_retrieval,
    parse_session,
    record_id,
)
from remembrancer.store.keys import partition_of

KINDS = [
    store_pb2.RECORD_KIND_OBSERVATION,
    store_pb2.RECORD_KIND_TURN,
    store_pb2.RECORD_KIND_EPISODE,
    store_pb2.RECORD_KIND_PROCEDURE,
]


@given(st.text(min_size=1, max_size=20))
def test_session_and_retrieval_ids_come_back_as_they_were_made(scope: str) -> None:
    session = SessionRef(partition_of(scope), new_token())
    assert parse_session(str(session)) == session
    retrieval = RetrievalRef(session.partition, session.ledger, new_token())
    assert parse_retrieval(str(retrieval)) == retrieval
    assert not retrieval.stateless
    assert parse_session(str(retrieval)) is None
    assert parse_retrieval(str(session)) is None


def test_a_stateless_retrieval_has_a_ledger_of_its_own() -> None:
    key = new_token()
    assert RetrievalRef(partition_of("s"), key, key).stateless


@given(st.sampled_from(KINDS), st.integers(1, 10**17))
def test_record_ids_come_back(kind: int, n: int) -> None:
    assert parse_record(record_id(kind, n)) == (kind, n)


@pytest.mark.parametrize(
    "odd",
    ["", "sch_", "sch_0", "sch_-1", "sch_01", "sch_1 ", " sch_1", "sch_١", "ep_1\n", "foo_1", "7", "sch_" + "9" * 40],
)
def test_other_texts_are_no_record_ids(odd: str) -> None:
    assert parse_record(odd) is None


def test_continuity_ids() -> None:
    assert is_continuity(new_continuity())
    assert new_continuity() != new_continuity()
    for odd in ("", "con_", "con_short", new_continuity() + "a", new_continuity().upper(), "con_../../etc/pass"):
        assert not is_continuity(odd)
