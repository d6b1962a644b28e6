"""Writes of a session: all of a batch or none of it, in its order."""

from __future__ import annotations

from typing import Any

import pytest

from remembrancer.client import InvalidArgument, memory
from remembrancer.internal.v1 import store_pb2
from tests.integration.sessions.conftest import keys_of
from tests.service import Session


def test_s29_one_bad_item_and_nothing_is_written(session: Session, stored: Any) -> None:
    keys, ref = keys_of(session.session_id)
    good = [memory("fact", f"Entry {i}.") for i in range(3)]
    for bad in (memory(0, "x"), memory(77, "x"), memory("fact", "\u200b")):
        with pytest.raises(InvalidArgument) as refused:
            session.client.remember([*good, bad], scope=session.scope, session_id=session.session_id)
        assert refused.value.violations[0].field.startswith("memories[3].")
    assert not stored.exists(keys.records)
    assert not stored.exists(keys.written(ref.ledger))
    results = session.client.remember(good, scope=session.scope, session_id=session.session_id).results
    stored_texts = [
        store_pb2.Record.FromString(stored.hget(keys.records, result.memory_id[4:])).content for result in results
    ]
    assert stored_texts == ["Entry 0.", "Entry 1.", "Entry 2."]
    assert [int(result.memory_id[4:]) for result in results] == [1, 2, 3]
