"""Forget: hidden before the answer, erased from everything that held the text."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import (
    AsyncClient,
    Client,
    ClientError,
    InvalidArgument,
    memory,
    memory_feedback,
    procedure,
    selection,
    tenant,
    turn,
)
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.v1 import common_pb2, correction_pb2, record_pb2, session_pb2
from tests.service import OpenSession, Outage, Session, Store, contents, hits


@pytest.fixture
def mark() -> str:
    """A word that stands nowhere but in the texts of one test; the stemmer leaves it as it is."""
    return f"q{uuid.uuid4().hex}x"


def values(stored: Store, key: bytes) -> bytes:
    """Return everything that a key holds, as one text."""
    match stored.type(key).decode():
        case "string":
            found = [stored.get(key)]
        case "hash":
            found = [part for pair in stored.hgetall(key).items() for part in pair]
        case "set":
            found = list(stored.smembers(key))
        case "zset":
            found = stored.zrange(key, 0, -1)
        case "list":
            found = stored.lrange(key, 0, -1)
        case _:
            found = [repr(stored.xrange(key)).encode()]
    return b"\n".join(part for part in found if part is not None)


def holding(stored: Store, mark: str) -> list[bytes]:
    """Return the keys that hold a word anywhere, in any case, their own names included."""
    word = mark.lower().encode()
    return [key for key in stored.scan_iter() if word in (key + values(stored, key)).lower()]


def append_only(service: LocalService, mark: str) -> bool:
    while True:
        files = [path for path in Path(service.folder.store).rglob("*") if path.is_file()]
        assert files
        with contextlib.suppress(FileNotFoundError):  # A rewrite has put others in the place of these.
            return any(mark.lower().encode() in path.read_bytes().lower() for path in files)


def rewrite(stored: Store) -> None:
    """Have the append-only file rewritten, its texts not compressed, and wait for it."""
    stored.config_set("rdbcompression", "no")
    deadline = time.monotonic() + 60
    started = False
    while time.monotonic() < deadline:
        state = stored.info("persistence")
        if not state["aof_rewrite_in_progress"] and not state["aof_rewrite_scheduled"]:
            if started:
                assert state["aof_last_bgrewrite_status"] == "ok"
                return
            stored.bgrewriteaof()
            started = True
        time.sleep(0.05)
    raise TimeoutError("the append-only file is not rewritten")


def erased(client: Client, scope: str, **target: object) -> int:
    answer = client.forget(scope=scope, **target)  # type: ignore[arg-type]
    assert not answer.erasing
    return answer.forgotten


def test_one_memory_goes_from_everywhere(
    client: Client, scope: str, open_session: OpenSession, stored: Store, mark: str
) -> None:
    text = f"Tamsin {mark} hid the ledger of Harbour Street under the stairs."
    client.remember([memory("fact", text), memory("fact", "Tamsin reads the ledger of Harbour Street.")], scope=scope)
    session = open_session()
    answer = session.recall(f"What did Tamsin {mark} do in Harbour Street?", "deep", request_id="again")
    assert "sch_1" in [hit.memory_id for hit in hits(answer)]
    client.feedback(
        answer.retrieval_id,
        memory_feedback=[memory_feedback("sch_1", "unassessable", reason=f"who is {mark}?")],
    )
    assert holding(stored, mark)

    assert erased(client, scope, memory_id="sch_1") == 1
    assert holding(stored, mark) == []
    for mode in ("active", "deep"):
        assert "sch_1" not in [h.memory_id for h in hits(session.recall(text, mode))]
        assert mark not in str(session.recall(text, mode)).replace(text, "")
    replayed = session.recall(f"What did Tamsin {mark} do in Harbour Street?", "deep", request_id="again")
    assert replayed.retrieval_id == answer.retrieval_id
    assert "sch_1" not in [hit.memory_id for hit in hits(replayed)]
    assert mark not in str(replayed)
    assert list(client.get_contents(["sch_1", "evt_1"], scope=scope).missing) == ["sch_1", "evt_1"]
    # What was shown can still be assessed, and teaches nothing.
    assert session.cover(answer.retrieval_id).outstanding == []


def test_an_episode_goes_with_its_last_member(
    client: Client, scope: str, open_session: OpenSession, stored: Store, mark: str
) -> None:
    session = open_session()
    client.remember(
        [memory("fact", f"The {mark} is in the attic."), memory("fact", "The attic is locked.")],
        scope=scope,
        session_id=session.session_id,
    )
    session.cover(session.opening.retrieval_id)
    done = client.commit(
        session.session_id, scope=scope, final_goal=f"find the {mark}", outcome="success", outcome_summary=f"{mark}!"
    )
    assert done.episode_id == "ep_3"
    assert erased(client, scope, memory_id="sch_1") == 1
    assert client.get_contents(["ep_3"], scope=scope).contents[0].members == [2]
    assert erased(client, scope, memory_id="sch_2") == 2
    assert list(client.get_contents(["ep_3"], scope=scope).missing) == ["ep_3"]
    assert holding(stored, mark) == []


def test_a_selection_goes_and_the_rest_stays(client: Client, scope: str, session: Session) -> None:
    client.remember(
        [memory("fact", "Ada's tea."), memory("task", "Ada's errand.")], scope=scope, axes={"user_id": "ada"}
    )
    client.remember([memory("fact", "Bo's tea.")], scope=scope, axes={"user_id": "bo"})
    client.remember([memory("fact", "The cook's tea.")], scope=scope, axes={"user_id": "ada", "agent_id": "cook"})
    assert erased(client, scope, selection=selection(axes={"user_id": "ada"}, types=["fact"])) == 1
    everyone = selection(any_axis=["agent_id"])
    left = [m.content for m in client.list_memories(scope=scope, selection=everyone).memories]
    assert left == ["The cook's tea.", "Bo's tea.", "Ada's errand."]
    assert client.forget(scope=scope, selection=selection(types=["task"]), suppress=True).forgotten == 1
    assert contents(session.recall("errand or tea", "deep")) == ["Bo's tea."]


@pytest.mark.parametrize("suppress", [False, True])
def test_t4_a_selection_that_bounds_nothing_is_refused(client: Client, scope: str, suppress: bool) -> None:
    client.remember([memory("fact", "Ada's tea.")], scope=scope, axes={"user_id": "ada"})
    every_axis = [common_pb2.Axis.Name(axis) for axis in common_pb2.Axis.values() if axis]
    unbounded = [
        selection(),
        selection(axes={}),
        record_pb2.MemorySelection(axes=common_pb2.Axes()),
        record_pb2.MemorySelection(axes=common_pb2.Axes(agent_id="", user_id="")),
        *(record_pb2.MemorySelection(any_axis=[common_pb2.Axis.Value(axis)]) for axis in every_axis),
        selection(axes={"user_id": "ada"}, any_axis=["user_id"]),
    ]
    for where in (scope, tenant("nobody")):
        for empty in unbounded:
            with pytest.raises(InvalidArgument) as refused:
                client.forget(scope=where, selection=empty, suppress=suppress)
            assert [violation.field for violation in refused.value.violations] == ["selection"]
    assert len(client.list_memories(scope=scope).memories) == 1
    assert client.forget(scope=scope, selection=selection(axes={"user_id": "ada"}), suppress=suppress).forgotten == 1


def test_speakers_and_equal_texts_are_forgotten_too(client: Client, scope: str, stored: Store, mark: str) -> None:
    client.record_turns(
        [turn("Good morning.", name=mark, msg_id="1"), turn("Good night.", name=mark, msg_id="2")], scope=scope
    )
    erased(client, scope, memory_id="evt_1")
    assert holding(stored, mark)
    erased(client, scope, memory_id="evt_2")
    assert holding(stored, mark) == []
    again = client.record_turns([turn("Good morning.", name="Ida", msg_id="1")], scope=scope).results[0]
    assert again.memory_id == "evt_3"


def test_a_retried_forget_does_nothing_twice(client: Client, scope: str) -> None:
    client.remember([memory("fact", "Once.")], scope=scope)
    first = client.forget(scope=scope, whole_scope=True, request_id="f-1")
    assert first.forgotten == 1
    client.remember([memory("fact", "Written after it.")], scope=scope)
    assert client.forget(scope=scope, whole_scope=True, request_id="f-1") == first
    assert len(client.list_memories(scope=scope).memories) == 1


def test_an_erasure_that_was_cut_off_is_finished_by_itself(
    client: Client, scope: str, stored: Store, mark: str, killed: Outage
) -> None:
    client.remember([memory("fact", f"{mark} {i}") for i in range(3)], scope=scope)
    # What a gateway leaves behind that dies right after it began: everything, up to N 3, nothing done yet.
    unfinished = bytes([0x18, 1, 0x20, 3])
    partition = partition_of(scope)
    stored.sadd("rm:erasing", partition)
    stored.hset(f"rm:{{{partition}}}:erasures", "left", unfinished)
    with killed(Role.GATEWAY):
        pass
    client.wait_connected()
    deadline = time.monotonic() + 20
    while holding(stored, mark) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert holding(stored, mark) == []
    assert not stored.exists(f"rm:{{{partition}}}:erasures")


def test_a_whole_scope_goes(
    client: Client, scope: str, open_session: OpenSession, service: LocalService, stored: Store, mark: str
) -> None:
    check_a_whole_scope_goes(client, scope, open_session, service, stored, mark, 200)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_whole_scope_of_2500_goes(
    client: Client, scope: str, open_session: OpenSession, service: LocalService, stored: Store, mark: str
) -> None:
    check_a_whole_scope_goes(client, scope, open_session, service, stored, mark, 2500)


def check_a_whole_scope_goes(
    client: Client,
    scope: str,
    open_session: OpenSession,
    service: LocalService,
    stored: Store,
    mark: str,
    count: int,
) -> None:
    for start in range(0, count, 100):
        numbers = range(start, min(start + 100, count))
        client.remember([memory("fact", f"Box {i} of the {mark} is sealed.") for i in numbers], scope=scope)
    client.record_turns([turn(f"The {mark} is mine.", name=f"Owner {mark}", msg_id="1")], scope=scope)
    session = open_session(task_context={"about": mark})
    client.remember([memory("fact", f"{mark} in a session.")], scope=scope, session_id=session.session_id)
    answer = session.recall(f"which box of the {mark}?", "deep", request_id="kept", top_k=50)
    assert len(hits(answer)) >= 50
    client.feedback(
        answer.retrieval_id,
        memory_feedback=[memory_feedback(hits(answer)[0].memory_id, "unassessable", reason=f"{mark}?")],
        missing=[f"the key of {mark}"],
    )
    assert holding(stored, mark)
    rewrite(stored)
    assert append_only(service, mark)

    assert erased(client, scope, whole_scope=True) == count + 2
    for mode in ("active", "deep"):
        assert contents(session.recall("which box is sealed?", mode, top_k=50)) == []
    assert holding(stored, mark) == []
    assert client.list_memories(scope=scope, selection=selection(any_axis=["agent_id"])).memories == []
    # T2: nobody but the service asks for this rewrite.
    deadline = time.monotonic() + 60
    while append_only(service, mark):
        assert time.monotonic() < deadline, "the append-only file is not rewritten"
        time.sleep(0.1)

    # The session goes on, and no number comes back.
    for retrieval in session.ledger().retrievals:
        session.cover(retrieval.retrieval_id)
    session.commit()
    written = client.remember([memory("fact", "A new start.")], scope=scope).results[0]
    assert int(written.memory_id.removeprefix("sch_")) > count + 2


@pytest.mark.parametrize(
    "target", [{"whole_scope": True}, {"selection": selection(axes={"user_id": "ada"})}], ids=["scope", "filter"]
)
async def test_no_word_of_a_session_comes_back_in_what_a_commit_makes_meanwhile(
    service: LocalService, stored: Store, scope: str, mark: str, target: dict[str, Any]
) -> None:
    chance = random.Random(8)
    async with AsyncClient.connect(service.address, attempts=1) as client:

        async def commit(path: str, session_id: str) -> object:
            await asyncio.sleep(chance.uniform(0, 0.01))
            made = procedure("repair a boat", ["caulk it"])
            return await client.commit(
                session_id, scope=path, final_goal="done", outcome="success", outcome_summary="fine", procedure=made
            )

        async def forget(path: str) -> object:
            await asyncio.sleep(chance.uniform(0, 0.03))
            return await client.forget(scope=path, **target)

        for number in range(15):
            path = f"{scope}-{number}"
            await client.remember([memory("fact", "Boats leak.")], scope=path)
            opened = await client.activate(
                "a task", "a goal", scope=path, task_context={"customer": mark}, axes={"user_id": "ada"}
            )
            await client.feedback(opened.retrieval_id, remaining="not_used", coverage="complete")
            committed, forgotten = await asyncio.gather(
                commit(path, opened.session_id), forget(path), return_exceptions=True
            )
            assert isinstance(forgotten, correction_pb2.ForgetResponse)
            assert isinstance(committed, session_pb2.CommitResponse | ClientError)
            keys = PartitionKeys(partition_of(path))
            assert mark.encode() not in values(stored, keys.records.encode())
