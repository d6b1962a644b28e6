"""What is damaged in the notes of the whole store, or of one partition, is nobody else's trouble."""

from __future__ import annotations

import time

import pytest

from remembrancer.client import Client, ClientError, memory, tenant
from remembrancer.store.keys import ERASING, REWRITE, UNEMBEDDED, PartitionKeys, partition_of
from tests.service import Session, Store, contents

FACT = "The lighthouse keeper feeds the gulls at noon."


@pytest.mark.parametrize("key", [UNEMBEDDED, ERASING])
def test_f9_a_note_that_is_no_text_hides_no_other(client: Client, session: Session, stored: Store, key: str) -> None:
    keys = PartitionKeys(partition_of(session.scope))
    written = client.remember([memory("fact", FACT)], scope=session.scope).results[0]
    stored.sadd(key, b"\xff\xfe")
    try:
        stored.sadd(keys.unembedded, written.memory_id.removeprefix("sch_"))
        stored.sadd(UNEMBEDDED, keys.partition)
        _wait_until_refilled(stored, keys)
        assert contents(session.recall("lighthouse keeper")) == [FACT]
    finally:
        stored.srem(key, b"\xff\xfe")


def test_f9_registries_of_another_kind_end_no_gateway(client: Client, session: Session, stored: Store) -> None:
    keys = PartitionKeys(partition_of(session.scope))
    client.remember([memory("fact", FACT)], scope=session.scope)
    held = {key: stored.dump(key) for key in (ERASING, REWRITE)}
    for key in held:
        stored.delete(key)
        stored.hset(key, "of another", "kind")
    try:
        time.sleep(2.5)
        stored.sadd(keys.unembedded, "1")
        stored.sadd(UNEMBEDDED, keys.partition)
        _wait_until_refilled(stored, keys)
    finally:
        for key, value in held.items():
            stored.delete(key)
            if value is not None:
                stored.restore(key, 0, value)
    assert contents(session.recall("lighthouse keeper")) == [FACT]


def test_a_partition_of_another_kind_is_left_out_of_the_list(client: Client, scope: str, stored: Store) -> None:
    keys = PartitionKeys(partition_of(scope))
    client.remember([memory("fact", FACT)], scope=scope)
    client.remember([memory("fact", FACT)], scope=f"{scope}-too")
    stored.delete(keys.records)
    stored.set(keys.records, "no hash")
    try:
        assert [found.path for found in client.list_scopes(prefix=scope).scopes] == [f"{scope}-too"]
    finally:
        stored.delete(keys.records)


def test_a_change_that_cannot_be_counted_leaves_nothing(client: Client, scope: str, stored: Store) -> None:
    org = tenant(scope)
    keys = PartitionKeys(partition_of(f"org:{scope}"))
    client.remember([memory("fact", "The first one.")], scope=org)
    count = stored.hget(keys.meta, "f")
    assert count is not None
    stored.hset(keys.meta, "f", "no number")
    with pytest.raises(ClientError):
        client.remember([memory("fact", FACT)], scope=org, request_id="again")
    stored.hset(keys.meta, "f", count)
    assert [found.content for found in client.list_memories(scope=org).memories] == ["The first one."]
    client.remember([memory("fact", FACT)], scope=org, request_id="again")
    assert contents(client.recall(FACT, scope=org))[0] == FACT


def _wait_until_refilled(stored: Store, keys: PartitionKeys) -> None:
    deadline = time.monotonic() + 15
    while stored.scard(keys.unembedded):
        assert time.monotonic() < deadline, "the refill does not come round"
        time.sleep(0.1)
