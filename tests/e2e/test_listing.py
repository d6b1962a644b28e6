"""ListMemories, GetScope, ListScopes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remembrancer.client import Client, InvalidArgument, memory, procedure, selection, turn
from remembrancer.v1 import common_pb2, record_pb2
from tests.service import OpenSession


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
