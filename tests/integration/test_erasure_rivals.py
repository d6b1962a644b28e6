"""Erasures whose copies are written to while they are looked at: no word stays, or the erasure does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory, memory_feedback
from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import Conflict
from remembrancer.model.ids import parse_retrieval
from remembrancer.model.selection import bounds_of, select
from remembrancer.store import connection
from remembrancer.store.change import Change
from remembrancer.store.keys import SCOPES, PartitionKeys, partition_of
from remembrancer.store.partition import PartitionStore, Read, Snapshot
from remembrancer.store.registration import UNLISTED
from remembrancer.store.scopes import ScopeRegistry
from remembrancer.v1 import common_pb2
from services.gateway.memories.forgetting.background import finish_erasure
from services.gateway.memories.forgetting.erasure import erase_copies, erase_records
from services.gateway.process import opened
from services.gateway.settings import GatewaySettings
from services.gateway.shared.parts import Parts
from services.gateway.shared.rounds import Round
from tests.service import Session, Store

NAME = "leftover"
WORD = "heronsbill"
Rival = Callable[[], object]


class Contested(PartitionStore):
    """The store as one process sees it, where a rival comes in after each of some first looks at one key."""

    def __init__(self, redis: Any, key: str, rival: Rival, times: int) -> None:
        super().__init__(redis)
        self._key, self._rival, self.left = key, rival, times

    async def read(self, *reads: Read) -> Snapshot:
        snapshot = await super().read(*reads)
        if self.left and reads[0][1] == self._key:
            self.left -= 1
            self._rival()
        return snapshot


@asynccontextmanager
async def contested(service: LocalService, key: str, rival: Rival, times: int) -> AsyncIterator[Parts]:
    url = service.plan.store_url
    async with opened(GatewaySettings(store_url=url)) as parts, connection.opened(url) as redis:
        yield replace(parts, store=Contested(redis, key, rival, times))


async def begin(parts: Parts, keys: PartitionKeys, **target: Any) -> None:
    """Leave an erasure whose records are gone, as a gateway that was killed has left it."""
    erasure = store_pb2.Erasure(stage=store_pb2.ERASURE_STAGE_COPIES, **target)
    change = Change(keys)
    change.write("HSET", keys.erasures, NAME, erasure.SerializeToString())
    change.write("HDEL", keys.records, erasure.n)
    await parts.store.apply(change)


async def pending(parts: Parts, keys: PartitionKeys) -> bool:
    return bool((await parts.store.read(("HEXISTS", keys.erasures, NAME))).answers[0])


async def text_of(parts: Parts, key: str) -> str:
    return str((await parts.store.read(("HGETALL", key))).answers[0])


@pytest.fixture
def assessed(client: Client, session: Session) -> tuple[PartitionKeys, str, Rival]:
    """A ledger with words on record 1; what adds feedback on record 2 to it, another each time."""
    client.remember([memory("fact", "The gate is green."), memory("fact", "The gate is old.")], scope=session.scope)
    retrieval = session.recall("gate").retrieval_id
    client.feedback(retrieval, memory_feedback=[memory_feedback("sch_1", "irrelevant", reason=WORD)])
    assessments = cycle(["irrelevant", "already_known"])

    def add() -> None:
        client.feedback(retrieval, memory_feedback=[memory_feedback("sch_2", next(assessments), reason="a word")])

    keys, ref = PartitionKeys(partition_of(session.scope)), parse_retrieval(retrieval)
    assert ref is not None
    return keys, keys.ledger(ref.ledger), add


async def test_feedback_that_comes_between_does_not_save_the_words_in_a_log(
    service: LocalService, assessed: tuple[PartitionKeys, str, Rival]
) -> None:
    keys, ledger, add = assessed
    async with contested(service, ledger, add, times=2) as parts:
        await begin(parts, keys, n=1, last=1, done=1)
        await erase_copies(parts, keys, NAME)
        left = await text_of(parts, ledger)
        assert WORD not in left
        assert "a word" in left
        assert not await pending(parts, keys)


async def test_feedback_without_end_leaves_the_erasure_pending_and_others_are_finished(
    service: LocalService, assessed: tuple[PartitionKeys, str, Rival]
) -> None:
    keys, ledger, add = assessed
    async with contested(service, ledger, add, times=10**6) as parts:
        await begin(parts, keys, n=1, last=1, done=1)
        with pytest.raises(Conflict):
            await erase_copies(parts, keys, NAME)
        assert await pending(parts, keys)
        other = PartitionKeys(partition_of("test:nothing in it"))
        await begin(parts, other, everything=True)

        async def finish(erasure: tuple[str, str]) -> None:
            await finish_erasure(parts, erasure)

        erasing = Round("erase", finish)
        names = [(keys.partition, NAME), (other.partition, NAME)]
        await erasing.go(names)
        assert (await pending(parts, keys), await pending(parts, other)) == (True, False)
        assert isinstance(parts.store, Contested)
        parts.store.left = 0
        await erasing.go(names)
        assert not await pending(parts, keys)
        assert WORD not in await text_of(parts, ledger)


async def test_recalls_that_come_between_do_not_save_the_words_of_a_session(
    service: LocalService, client: Client, session: Session
) -> None:
    keys, ref = PartitionKeys(partition_of(session.scope)), parse_retrieval(session.opening.retrieval_id)
    assert ref is not None
    key, turns = keys.session(ref.ledger), iter(range(10**6))

    def rival() -> None:
        session.recall("gate", task_context={"turn": next(turns), "plant": WORD})

    async with contested(service, key, rival, times=12) as parts:
        await begin(parts, keys, everything=True)
        await erase_copies(parts, keys, NAME)
        assert WORD not in await text_of(parts, key)
        assert session.opening.session_id in {s.session_id for s in client.list_sessions(scope=session.scope).sessions}
        assert next(turns) == 12


class Interrupted(ScopeRegistry):
    """The registry, where a rival comes before or after a scope is struck out."""

    def __init__(self, redis: Any, rival: Rival, *, early: bool) -> None:
        super().__init__(redis)
        self._rival, self._early = rival, early

    async def strike_out(self, partition: str, scope: str) -> None:
        if self._early:
            self._rival()
        await super().strike_out(partition, scope)
        if not self._early:
            self._rival()


@pytest.mark.parametrize("early", [True, False])
async def test_t3_what_is_written_while_a_scope_is_struck_out_stays_listed(
    service: LocalService, client: Client, stored: Store, scope: str, early: bool
) -> None:
    client.remember([memory("fact", "The gate is green.")], scope=scope)
    keys = PartitionKeys(partition_of(scope))

    def write() -> None:
        client.remember([memory("fact", "The gate is blue.")], scope=scope)

    async with gateway(service) as parts, connection.opened(service.plan.store_url) as redis:
        rivalled = replace(parts, scopes=Interrupted(redis, write, early=early))
        await begin(parts, keys, everything=True, scope=scope)
        stored.unlink(keys.records, keys.live, keys.tally)
        await erase_copies(rivalled, keys, NAME)
        assert not await pending(parts, keys)
    assert stored.hget(SCOPES, keys.partition) == scope.encode()
    assert scope in [listed.path for listed in client.list_scopes(prefix=scope).scopes]
    assert not stored.hexists(keys.meta, UNLISTED)


async def test_t3_an_erasure_that_dies_between_records_and_copies_is_finished_by_two_gateways_at_once(
    service: LocalService, client: Client, stored: Store, scope: str
) -> None:
    axes = {"user_id": "ada"}
    opening = client.activate(f"ask for {WORD}", "a bunch", scope=scope, axes=axes, task_context={"plant": WORD})
    session = Session(client, scope, opening.session_id, opening)
    client.remember([memory("fact", f"{WORD} is pink.")], scope=scope, session_id=session.session_id)
    shown = session.recall(f"{WORD} is pink.").retrieval_id
    client.feedback(shown, memory_feedback=[memory_feedback("sch_1", "irrelevant", reason=WORD)], missing=[WORD])
    keys = PartitionKeys(partition_of(scope))
    bounds = bounds_of(select(common_pb2.Axes(**axes), ()))
    erasure = store_pb2.Erasure(bounds=bounds, last=1)
    async with gateway(service) as parts, gateway(service) as other:
        change = Change(keys)
        change.write("HSET", keys.erasures, NAME, erasure.SerializeToString())
        await parts.store.apply(change)
        await erase_records(parts, keys, NAME)
        assert await pending(parts, keys)
        await asyncio.gather(erase_copies(parts, keys, NAME), erase_copies(other, keys, NAME))
        assert not await pending(parts, keys)
    assert WORD not in str([stored.hgetall(key) for key in stored.scan_iter(keys.all_like()) if is_hash(stored, key)])
    assert not stored.exists(keys.to_scrub, keys.commented(1))


def is_hash(stored: Store, key: bytes) -> bool:
    return bool(stored.type(key) == b"hash")


@asynccontextmanager
async def gateway(service: LocalService) -> AsyncIterator[Parts]:
    async with opened(GatewaySettings(store_url=service.plan.store_url)) as parts:
        yield parts
