"""What a Forget takes along, and what it leaves of it in the store: nothing, by raw scans of all keys."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory, memory_feedback, procedure, procedure_feedback, selection, tenant, turn
from remembrancer.store import connection
from remembrancer.store.keys import MODELS, SCOPES, PartitionKeys, partition_of
from remembrancer.store.partition import PartitionStore
from remembrancer.v1 import common_pb2
from services.gateway.shared.counters import RecallCounters
from tests.e2e.test_forget import erased, holding
from tests.service import Session, Store

MENDED = {"ada": "the leaking garden hose", "bo": "the flat tyre of a bicycle"}
"""What the procedure of each user mends; both are found by it."""

FORMER = "former"
"""A model that the store knows and that does not serve."""


@pytest.fixture
def words() -> dict[str, str]:
    """A word for each user that stands nowhere but in the texts of one test."""
    return {user: f"q{uuid.uuid4().hex}{user}x" for user in ("ada", "bo")}


@dataclass
class Users:
    """Two users of one scope, each with a session that committed: all texts of a user hold the user's word."""

    sessions: dict[str, Session]
    procedures: dict[str, str]
    numbers: dict[str, list[int]]


@pytest.fixture
def lived(client: Client, stored: Store, words: dict[str, str]) -> Iterator[Callable[[str], Users]]:
    """Return a function that fills a scope; every record has vectors of a second model, and waits for others."""
    stored.hset(MODELS, FORMER, 2)

    def fill(scope: str) -> Users:
        users, keys = lives(client, scope, words), PartitionKeys(partition_of(scope))
        for n in (n for ns in users.numbers.values() for n in ns):
            stored.hset(keys.vectors(FORMER), str(n), b"1234")
            for waiting in (keys.behind, keys.unembedded, keys.aside):
                stored.sadd(waiting, n)
        return users

    yield fill
    stored.hdel(MODELS, FORMER)


def lives(client: Client, scope: str, words: dict[str, str]) -> Users:
    found = Users({}, {}, {})
    for user, word in words.items():
        axes = {"user_id": user}
        opening = client.activate(
            f"a task of {word}", f"a goal of {word}", scope=scope, axes=axes, task_context={"about": word}
        )
        session = Session(client, scope, opening.session_id, opening)
        session.cover(opening.retrieval_id)
        texts = [memory("fact", f"The {word} fern likes shade {i}.") for i in range(2)]
        written = client.remember(texts, scope=scope, session_id=session.session_id).results
        spoken = client.record_turns(
            [turn(f"My {word} fern is dry.", name=f"Lady {word}", msg_id=f"m{word}")],
            scope=scope,
            session_id=session.session_id,
        ).results
        answer = session.recall(f"{word} fern shade", "deep", request_id=f"first-{user}", task_context={"more": word})
        client.feedback(
            answer.retrieval_id,
            memory_feedback=[memory_feedback(written[0].memory_id, "used", reason=f"{word} helped")],
            missing=[f"where {word} stands"],
            remaining="not_used",
            coverage="complete",
        )
        done = client.commit(
            session.session_id,
            scope=scope,
            final_goal=f"water {word}",
            outcome="success",
            outcome_summary=f"{word} is wet",
            procedure=procedure(f"mend {MENDED[user]}", [f"ask {word} for glue"], caveats=[f"not {word} in frost"]),
        )
        names = [w.memory_id for w in (*written, *spoken)] + [done.episode_id, done.procedure_id]
        found.sessions[user] = session
        found.procedures[user] = done.procedure_id
        found.numbers[user] = [int(name.rpartition("_")[2]) for name in names]
    # Ada uses Bo's procedure and says something of it.
    again = client.activate(f"water {words['bo']}", f"the {words['bo']} can", scope=scope, axes={"user_id": "ada"})
    shown = client.recall(f"mend {MENDED['bo']}", scope=scope, session_id=again.session_id, any_axis=["user_id"])
    assert found.procedures["bo"] in [p.procedure_id for p in shown.procedures]
    client.feedback(
        shown.retrieval_id,
        procedure_feedback=[
            procedure_feedback(found.procedures["bo"], "used", contribution=f"as for {words['ada']}", effect="helped")
        ],
    )
    return found


def fields_of(stored: Store, keys: PartitionKeys, n: int) -> list[str]:
    """Return the keys that have something of record N: a field, a member, a number in a list, or their name."""
    name, found = str(n).encode(), []
    for key in stored.scan_iter(keys.all_like()):
        if b":used:" in key:
            continue  # Which procedures a session used are ids, which stay as they do in ledgers.
        match stored.type(key):
            case b"hash":
                listed = key.endswith((b":dup", b":eps"))
                here = stored.hexists(key, name) or (
                    listed and any(name in value.split(b",") for value in stored.hvals(key))
                )
            case b"set":
                here = stored.sismember(key, name)
            case b"zset":
                here = stored.zscore(key, name) is not None
            case b"list":
                here = name in stored.lrange(key, 0, -1)
            case _:
                here = False
        if here or key.endswith(b":" + name):
            found.append(key.decode().rpartition("}:")[2])
    return found


def vectors(stored: Store, keys: PartitionKeys, n: int) -> list[bytes]:
    return [stored.hget(key, str(n)) for key in stored.scan_iter(keys.all_like("vec"))]


def test_t3_t5_a_filter_takes_all_of_a_user_along_and_nothing_of_another(
    client: Client, scope: str, lived: Callable[[str], Users], stored: Store, words: dict[str, str]
) -> None:
    users, keys = lived(scope), PartitionKeys(partition_of(scope))
    for n in users.numbers["ada"]:
        assert fields_of(stored, keys, n)
        assert any(vectors(stored, keys, n))
    assert client.forget(scope=scope, selection=selection(axes={"user_id": "ada"})).forgotten == 5
    assert holding(stored, words["ada"]) == []
    for n in users.numbers["ada"]:
        assert fields_of(stored, keys, n) == []
    everyone = selection(any_axis=["agent_id"])
    left = [m.memory_id for m in client.list_memories(scope=scope, selection=everyone).memories]
    assert sorted(int(name.rpartition("_")[2]) for name in left) == sorted(users.numbers["bo"])
    bo = client.activate("water a fern", "a can", scope=scope)
    for mode in ("active", "deep"):
        for user, there in (("ada", False), ("bo", True)):
            answer = client.recall(f"mend {MENDED[user]}", scope=scope, session_id=bo.session_id, mode=mode)
            assert (users.procedures[user] in [p.procedure_id for p in answer.procedures]) == there
    # Bo's session has kept its words, Ada's is a session without any.
    kept = client.get_session(users.sessions["bo"].session_id, scope=scope)
    assert (words["bo"] in kept.task, words["bo"] in kept.outcome_summary) == (True, True)
    bare = client.get_session(users.sessions["ada"].session_id, scope=scope)
    assert (bare.task, bare.initial_goal, bare.outcome_summary) == ("", "", "")
    assert bare.state == kept.state


def test_t3_a_session_goes_bare_with_the_last_record_of_a_filter(
    client: Client, scope: str, stored: Store, words: dict[str, str]
) -> None:
    word = words["ada"]
    opening = client.activate(f"write down {word}", "a list", scope=scope)
    for user in ("ada", "bo"):
        client.remember(
            [memory("fact", f"{user} has a boat.")], scope=scope, session_id=opening.session_id, axes={"user_id": user}
        )
    assert erased(client, scope, selection=selection(axes={"user_id": "bo"}, types=["fact"])) == 1
    assert holding(stored, word)
    assert erased(client, scope, selection=selection(axes={"user_id": "ada"}, types=["fact"])) == 1
    assert holding(stored, word) == []


def test_t3_t5_a_whole_scope_leaves_neither_words_nor_its_name(
    client: Client, lived: Callable[[str], Users], stored: Store, words: dict[str, str]
) -> None:
    name = f"Q{uuid.uuid4().hex}x"
    scope = f"Test:{name}"
    users, keys = lived(scope), PartitionKeys(partition_of(scope))
    org = client.recall("anything", scope=tenant("nobody"), request_id=f"{name[:20]}")
    assert org.retrieval_id
    assert erased(client, scope, whole_scope=True) == sum(map(len, users.numbers.values()))
    for word in (*words.values(), name):
        assert holding(stored, word) == []
    for n in (n for ns in users.numbers.values() for n in ns):
        assert fields_of(stored, keys, n) == []
    like = client.activate("another task", "a goal", scope=scope.lower())
    assert not like.warnings
    assert not client.remember([memory("fact", "Something.")], scope=scope.lower()).warnings
    # What is written after it is listed, and warned of.
    client.remember([memory("fact", "Anew.")], scope=scope)
    assert stored.hget(SCOPES, keys.partition) == scope.encode()
    assert scope in [s.path for s in client.list_scopes(prefix=scope).scopes]
    warnings = client.remember([memory("fact", "Something.")], scope=scope.upper()).warnings
    assert [w.code for w in warnings] == [common_pb2.WARNING_CODE_SCOPE_FRAGMENTATION]


async def test_t5_one_memory_leaves_no_field_and_no_late_count_brings_one_back(
    service: LocalService,
    client: Client,
    scope: str,
    lived: Callable[[str], Users],
    stored: Store,
    words: dict[str, str],
) -> None:
    users, keys = lived(scope), PartitionKeys(partition_of(scope))
    first, second = users.numbers["ada"][:2]
    deadline = time.monotonic() + 5
    while not stored.hexists(keys.counts, first):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    assert {"rec", "learned", "counts", "dup", "behind", "unembedded", "aside", "vec:former"} <= set(
        fields_of(stored, keys, first)
    )
    await asyncio.to_thread(erased, client, scope, memory_id=f"sch_{first}", axes={"user_id": "ada"})
    assert fields_of(stored, keys, first) == []
    before = int(stored.hget(keys.counts, second) or 0)
    async with connection.opened(service.plan.store_url) as redis:
        counters = RecallCounters(PartitionStore(redis))
        counters.bump(keys, [first, second], keys.pause("local", ""))
        while int(stored.hget(keys.counts, second) or 0) == before:
            assert time.monotonic() < deadline + 5
            await asyncio.sleep(0.02)
    assert fields_of(stored, keys, first) == []


def spent(stored: Store) -> dict[str, int]:
    return {name: stats["calls"] for name, stats in stored.info("commandstats").items()}


def test_t12_the_keys_of_others_cost_nothing(client: Client, scope: str, stored: Store) -> None:
    client.remember([memory("fact", "One."), memory("fact", "Two.")], scope=scope)
    stored.config_resetstat()
    erased(client, scope, memory_id="sch_1")
    assert not [name for name in spent(stored) if name.partition("cmdstat_")[2] in ("scan", "keys")]


@contextmanager
def readers(client: Client, scope: Any, count: int) -> Iterator[None]:
    """Have recalls made side by side all the while."""
    ended = threading.Event()

    def read(reader: int) -> None:
        turn_ = 0
        while not ended.is_set():
            turn_ += 1
            client.recall("a heron", scope=scope, request_id=f"{reader}-{turn_}")

    threads = [threading.Thread(target=read, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def commands_of_forget(client: Client, scope: Any, stored: Store, memory_id: str) -> int:
    """Return how many commands one Forget had the store carry out, while nothing else happens there."""
    time.sleep(0.3)  # counts are written behind their answers
    before = spent(stored)
    assert not client.forget(scope=scope, memory_id=memory_id).erasing
    after = spent(stored)
    return sum(after.values()) - sum(before.values())


def seconds_of_forget(client: Client, scope: Any, memory_id: str) -> float:
    started = time.monotonic()
    assert not client.forget(scope=scope, memory_id=memory_id).erasing
    return time.monotonic() - started


def check_remembered_recalls(client: Client, stored: Store, count: int) -> tuple[float, float]:
    """Check the work of a Forget; return its seconds before the recalls, and after them beside eight readers."""
    org = tenant(f"o{uuid.uuid4().hex}")
    client.remember([memory("fact", f"Heron number {i} is grey.") for i in range(7)], scope=org)
    few = min(commands_of_forget(client, org, stored, f"sch_{n}") for n in (1, 2))
    alone = seconds_of_forget(client, org, "sch_3")
    for i in range(count):
        client.recall("a heron", scope=org, request_id=f"r-{i}")
    many = commands_of_forget(client, org, stored, "sch_4")
    assert many < 2 * few
    with readers(client, org, 8):
        seconds = [seconds_of_forget(client, org, f"sch_{n}") for n in (5, 6, 7)]
    return alone, min(seconds)


def test_t38_recalls_that_are_remembered_cost_a_forget_nothing(client: Client, stored: Store) -> None:
    check_remembered_recalls(client, stored, 60)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_t38_five_thousand_remembered_recalls_cost_a_forget_nothing(client: Client, stored: Store) -> None:
    alone, beside_readers = check_remembered_recalls(client, stored, 5000)
    # The readers take the processors, too: a walk through what is remembered takes hundreds of times as long.
    assert beside_readers < 10 * max(alone, 0.05)
