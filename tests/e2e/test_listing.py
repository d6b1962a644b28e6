"""ListMemories, GetScope, ListScopes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from remembrancer.client import Client, InvalidArgument, memory, procedure, selection, turn
from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import from_ms
from remembrancer.store.keys import SCOPES, PartitionKeys, partition_of
from remembrancer.v1 import common_pb2, record_pb2
from tests.service import OpenSession, Store


def pages(client: Client, scope: str, size: int, **more: object) -> Iterator[list[record_pb2.MemoryRecord]]:
    token = ""
    while True:
        page = client.list_memories(scope=scope, page_size=size, page_token=token, **more)  # type: ignore[arg-type]
        yield list(page.memories)
        token = page.next_page_token
        if not token:
            return


def test_d25_no_row_is_repeated_or_skipped_when_others_write(client: Client, scope: str) -> None:
    client.remember([memory("fact", f"Tied row {i}.") for i in range(7)], scope=scope)
    seen = []
    for page in pages(client, scope, 2):
        assert len(page) <= 2
        seen += [m.memory_id for m in page]
        client.remember([memory("fact", f"Written after {len(seen)} were seen.")], scope=scope)
    assert seen == [f"sch_{n}" for n in range(7, 0, -1)]


def test_a_selection_bounds_the_list(client: Client, scope: str) -> None:
    client.remember([memory("fact", "A fact."), memory("task", "A task.")], scope=scope)
    client.record_turns([turn("A turn.", timestamp="2020-01-01")], scope=scope, axes={"agent_id": "scribe"})
    (tasks,) = pages(client, scope, 10, selection=selection(types=["task"]))
    assert [m.content for m in tasks] == ["A task."]
    (own,) = pages(client, scope, 10)
    assert {m.content for m in own} == {"A fact.", "A task."}
    (every,) = pages(client, scope, 10, selection=selection(any_axis=["agent_id"]))
    assert [m.memory_id for m in every] == ["evt_3", "sch_2", "sch_1"]
    (turns,) = pages(client, scope, 10, selection=selection(any_axis=["agent_id"], kinds=["turn"]))
    assert [m.kind for m in turns] == [common_pb2.MEMORY_KIND_TURN]


def test_t3_procedures_are_listed_with_the_axes_of_their_session(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    session = open_session(axes={"user_id": "ada"})
    session.cover(session.opening.retrieval_id)
    made = procedure("water the ferns", ["fill the can"])
    done = client.commit(
        session.session_id, scope=scope, final_goal="green", outcome="success", outcome_summary="yes", procedure=made
    )
    (listed,) = pages(client, scope, 10, selection=selection(axes={"user_id": "ada"}))
    assert [m.memory_id for m in listed] == [done.procedure_id, done.episode_id]
    assert (listed[0].content, listed[0].kind) == ("green\nwater the ferns\nfill the can", 0)
    (others,) = pages(client, scope, 10, selection=selection(axes={"user_id": "bo"}))
    (episodes,) = pages(client, scope, 10, selection=selection(kinds=["episode"]))
    assert (others, [m.memory_id for m in episodes]) == ([], [done.episode_id])
    bound = selection(axes={"user_id": "ada"})
    assert client.forget(scope=scope, selection=bound, suppress=True).forgotten == 2
    assert list(pages(client, scope, 10)) == [[]]
    (hidden,) = pages(client, scope, 10, include_suppressed=True)
    assert [m.suppressed for m in hidden] == [True, True]
    assert client.restore_memory(done.procedure_id, scope=scope).restored


def test_long_texts_are_previews_and_a_page_stays_below_a_mebibyte(client: Client, scope: str) -> None:
    client.remember([memory("fact", "語" * 600)], scope=scope)
    (shown,) = client.list_memories(scope=scope).memories
    assert shown.content == "語" * 500
    assert shown.content_truncated
    assert shown.content_length == 600


def put(stored: Store, scope: str, records: dict[int, store_pb2.Record], last: int) -> PartitionKeys:
    """Put records into the store as an earlier version left them."""
    keys = PartitionKeys(partition_of(scope))
    with stored.pipeline() as pipe:
        pipe.hset(SCOPES, keys.partition, scope)
        pipe.hset(keys.meta, mapping={"n": last, "f": 1, "head": "1-1"})
        pipe.xadd(keys.feed, {"op": "r", "n": 1}, id="1-1")
        for n, record in records.items():
            pipe.hset(keys.records, str(n), record.SerializeToString())
        pipe.execute()
    return keys


def scripts(stored: Store) -> int:
    return int(stored.info("commandstats")["cmdstat_evalsha"]["calls"])


def sizes(stored: Store) -> int:
    return int(stored.info("commandstats").get("cmdstat_hlen", {"calls": 0})["calls"])


def sent(stored: Store) -> int:
    return int(stored.info("stats")["total_net_output_bytes"])


def observation(content: str, **more: Any) -> store_pb2.Record:
    at = from_ms(1_700_000_000_000)
    kind = store_pb2.RECORD_KIND_OBSERVATION
    type_, status = common_pb2.MEMORY_TYPE_FACT, common_pb2.MEMORY_STATUS_ACTIVE
    return store_pb2.Record(
        kind=kind, content=content, type=type_, status=status, occurred_at=at, recorded_at=at, **more
    )


def test_t25_a_page_stays_below_a_mebibyte_whatever_its_records_hold(stored: Store, client: Client, scope: str) -> None:
    axes = common_pb2.Axes(**dict.fromkeys(("user_id", "conversation_id", "project_id"), "語" * 256))
    put(stored, scope, {n: observation("語" * 16_000, axes=axes) for n in range(1, 401)}, 400)
    every = selection(any_axis=["user_id", "conversation_id", "project_id"])
    seen: list[str] = []
    token = ""
    while not seen or token:
        page = client.list_memories(scope=scope, selection=every, page_size=500, page_token=token)
        assert page.memories
        assert page.ByteSize() <= 1 << 20
        seen += [shown.memory_id for shown in page.memories]
        token = page.next_page_token
    assert seen == [f"sch_{n}" for n in range(400, 0, -1)]


def test_t36_what_was_forgotten_costs_nobody_time(stored: Store, client: Client, scope: str) -> None:
    """A scope with three records and the last number 10^7."""
    ns = (5, 5_000_000, 9_999_999)
    put(stored, scope, {n: observation(f"Memory {n}.") for n in ns}, 10**7)
    before = scripts(stored)
    assert [shown.content for shown in client.list_memories(scope=scope).memories] == [
        f"Memory {n}." for n in reversed(ns)
    ]
    answer = client.get_scope(scope=scope)
    assert (answer.active[0].count, answer.last_number) == (3, 10**7)
    exported = [record.memory.content for part in client.export_scope(scope=scope) for record in part.batch.records]
    assert exported == [f"Memory {n}." for n in ns]
    assert client.forget(scope=scope, selection=selection(types=["fact"])).forgotten == 3
    assert scripts(stored) - before < 200


def test_t36_a_scope_behind_many_empty_ones_is_listed(stored: Store, client: Client, scope: str) -> None:
    prefix = f"{scope}/"
    empty = {partition_of(f"{prefix}{i:04}"): f"{prefix}{i:04}" for i in range(8000)}
    stored.hset(SCOPES, mapping=empty)
    try:
        client.remember([memory("fact", "Alive.")], scope=f"{prefix}z")
        page = client.list_scopes(prefix=prefix)
        assert [(found.path, found.records) for found in page.scopes] == [(f"{prefix}z", 1)]
        assert not page.next_page_token
    finally:
        stored.hdel(SCOPES, *empty)


def test_t15_a_page_of_scopes_asks_for_no_more_than_it_shows(stored: Store, client: Client, scope: str) -> None:
    prefix = f"{scope}/"
    for i in range(30):
        put(stored, f"{prefix}{i:02}", {1: observation("One.")}, 1)
    before = sizes(stored)
    assert len(client.list_scopes(prefix=prefix, page_size=3).scopes) == 3
    assert sizes(stored) - before <= 3 + 1 + 5  # others look at the store, too
    shown: list[str] = []
    token = ""
    while not shown or token:
        page = client.list_scopes(prefix=prefix, page_size=7, page_token=token)
        shown += [found.path for found in page.scopes]
        token = page.next_page_token
    assert shown == [f"{prefix}{i:02}" for i in range(30)]


def test_t15_counting_a_scope_reads_none_of_its_records(stored: Store, client: Client, scope: str) -> None:
    put(stored, scope, {n: observation(f"Memory {n}.") for n in range(1, 3001)}, 3000)
    assert client.get_scope(scope=scope).active[0].count == 3000
    before = sent(stored)
    assert client.get_scope(scope=scope).active[0].count == 3000
    assert sent(stored) - before < 50_000


def test_tokens_and_sizes_that_are_none_are_refused(client: Client, scope: str) -> None:
    client.remember([memory("fact", f"Row {i}.") for i in range(3)], scope=scope)
    token = client.list_memories(scope=scope, page_size=1).next_page_token
    assert token
    for wrong in ({"page_token": "nonsense"}, {"page_token": token, "include_stale": True}, {"page_size": 501}):
        with pytest.raises(InvalidArgument) as refused:
            client.list_memories(scope=scope, **wrong)
        assert refused.value.violations[0].field in ("page_token", "page_size")
    with pytest.raises(InvalidArgument):
        client.list_memories(scope=f"{scope}-other", page_token=token)


def test_get_scope_counts(client: Client, scope: str) -> None:
    assert not client.get_scope(scope=scope).scope_known
    client.remember([memory("fact", "One."), memory("fact", "Two.")], scope=scope)
    client.record_turns([turn("Three.")], scope=scope)
    answer = client.get_scope(scope=f" {scope} ")
    assert answer.path == scope
    assert answer.scope_known
    assert {c.kind: c.count for c in answer.active} == {1: 2, 2: 1}
    assert (answer.stale, answer.suppressed, answer.procedures, answer.unembedded) == (0, 0, 0, 0)
    assert answer.stored_bytes > 3 * 384 * 2
    assert answer.last_number == 3


def test_list_scopes_pages_through_those_with_records(client: Client, scope: str) -> None:
    names = sorted(f"{scope}-{letter}" for letter in "edcba")
    for name in names:
        client.remember([memory("fact", "Here.")], scope=name)
    client.activate("a session alone", "writes no record", scope=f"{scope}-empty")
    seen, token = [], ""
    while True:
        page = client.list_scopes(prefix=scope, page_size=2, page_token=token)
        seen += [(s.path, s.records) for s in page.scopes]
        token = page.next_page_token
        if not token:
            break
    assert seen == [(name, 1) for name in names]
