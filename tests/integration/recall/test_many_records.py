"""Calls that look at more records than the store's scripting library takes arguments."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import pytest

from remembrancer.client import Client, context_entry, memory, tenant
from remembrancer.internal.v1 import store_pb2
from remembrancer.model.text import fold
from remembrancer.store.keys import PartitionKeys, digest, partition_of
from remembrancer.v1 import memory_pb2
from tests.records import record
from tests.service import Store

CREATED, MATCHED = memory_pb2.WRITE_DISPOSITION_CREATED, memory_pb2.WRITE_DISPOSITION_MATCHED


@pytest.fixture
def keys(scope: str) -> PartitionKeys:
    return PartitionKeys(partition_of(scope))


def put(stored: Store, keys: PartitionKeys, records: Mapping[int, store_pb2.Record]) -> None:
    """Store records without vectors, as a gateway without an encoder has left them."""
    stored.hset(keys.records, mapping={n: made.SerializeToString() for n, made in records.items()})
    stored.hset(keys.meta, "n", max(records))


def test_texts_that_many_users_have_stated_are_compared_with_all_of_theirs(
    client: Client, scope: str, stored: Store, keys: PartitionKeys
) -> None:
    texts, users = [f"The lamp on pier {i} is lit." for i in range(17)], 512
    made = [record(text, axes={"user_id": f"u{user}"}) for text in texts for user in range(users)]
    put(stored, keys, dict(enumerate(made, 1)))
    lists = {
        digest("observation", fold(text)): ",".join(str(i * users + user + 1) for user in range(users))
        for i, text in enumerate(texts)
    }
    stored.hset(keys.duplicates, mapping=lists)
    items = [memory("fact", text) for text in texts]
    assert len(made) > 8000
    known = client.remember(items, scope=scope, axes={"user_id": "u300"}).results
    assert [(r.memory_id, r.disposition) for r in known] == [(f"sch_{i * users + 301}", MATCHED) for i in range(17)]
    new = client.remember(items, scope=scope, axes={"user_id": "nobody yet"}).results
    assert {r.disposition for r in new} == {CREATED}


def test_what_stands_below_thousands_that_are_held_already_is_found(client: Client, stored: Store) -> None:
    organisation = str(uuid.uuid4())
    keys = PartitionKeys(partition_of(f"org:{organisation}"))
    held, low = "The lamp on the long pier is lit every evening.", "The ferry leaves at noon."
    put(stored, keys, {1: record(low), **{n: record(held) for n in range(2, 8202)}})
    # The first write through the gateway makes the partition one that the workers load.
    client.remember([memory("fact", held)], scope=tenant(organisation))
    answer = client.recall_with_context(
        "", scope=tenant(organisation), agent_id="default-agent", external_context=[context_entry(held)], timeout=30
    )
    assert [message.memory.memory_id for message in answer.messages] == ["sch_1"]
