"""Erasures whose copies are written to while they are looked at: no word stays, or the erasure does."""

from __future__ import annotations

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
from remembrancer.store import connection
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.store.partition import PartitionStore, Read, Snapshot
from services.gateway.memories.forgetting.background import finish_erasure
from services.gateway.memories.forgetting.erasure import erase_copies
from services.gateway.process import opened
from services.gateway.settings import GatewaySettings
from services.gateway.shared.parts import Parts
from services.gateway.shared.rounds import Round
from tests.service import Session

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
