"""Calls on one session all at once: the gate holds whatever comes between (field case B19)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from remembrancer.client import AsyncClient, ClientError, FeedbackIncompleteError, memory, memory_feedback
from remembrancer.v1 import recall_pb2, session_pb2
from services.gateway.settings import GatewaySettings
from tests.cluster_service import ClusterService
from tests.gateway import Service

PAIRS = 100
LEADS = (0.0, 0.05, 0.3)
"""Seconds that commits begin before recalls, round after round: without any, recalls are first on a busy machine."""

COMMITTED = session_pb2.SESSION_STATE_COMMITTED


async def commit(client: AsyncClient, scope: str, session_id: str) -> session_pb2.CommitResponse:
    return await client.commit(
        session_id, scope=scope, final_goal="find the kiln", outcome="success", outcome_summary="found it"
    )


async def race(client: AsyncClient, scope: str, chance: random.Random, seen: Counter[str], lead: float) -> None:
    """Run 100 commits and 100 recalls on one new session at once; check what came of it."""
    opened = await client.activate("find the kiln", "warm hands", scope=scope)
    session_id = opened.session_id
    await client.feedback(opened.retrieval_id, remaining="not_used", coverage="complete")

    async def recall() -> recall_pb2.RecallResponse:
        await asyncio.sleep(lead + chance.uniform(0, 0.02))
        return await client.recall("where is the kiln?", scope=scope, session_id=session_id, top_k=1, timeout=30)

    async def close() -> session_pb2.CommitResponse:
        await asyncio.sleep(chance.uniform(0, 0.02))
        return await commit(client, scope, session_id)

    calls = [recall() for _ in range(PAIRS)] + [close() for _ in range(PAIRS)]
    chance.shuffle(calls)
    answers = await asyncio.gather(*calls, return_exceptions=True)
    recalled = {answer.retrieval_id for answer in answers if isinstance(answer, recall_pb2.RecallResponse)}
    commits = [answer for answer in answers if isinstance(answer, session_pb2.CommitResponse)]
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    for error in refused:
        assert isinstance(error, ClientError), error
        assert error.reason in ("SESSION_ENDED", "FEEDBACK_INCOMPLETE"), error
        seen[error.reason] += 1
    ledger = await client.get_session(session_id, scope=scope, page_size=500)
    # Nothing that was answered is lost, and nothing is in the ledger that was not answered.
    assert {retrieval.retrieval_id for retrieval in ledger.retrievals} == {opened.retrieval_id, *recalled}
    if commits:
        seen["committed"] += 1
        assert ledger.state == COMMITTED
        assert ledger.uncovered_count == 0
        assert recalled == set()
        assert len({answer.episode_id for answer in commits}) == 1
        created = [answer for answer in commits if answer.operation == session_pb2.COMMIT_OPERATION_CREATED]
        assert len(created) == 1
    else:
        seen["recalled"] += 1
        assert recalled
        assert ledger.uncovered_count == len(recalled)
        with pytest.raises(FeedbackIncompleteError):
            await commit(client, scope, session_id)
        items = [
            session_pb2.FeedbackItem(
                retrieval_id=name,
                remaining=session_pb2.MEMORY_ASSESSMENT_NOT_USED,
                coverage=session_pb2.COVERAGE_DECLARATION_COMPLETE,
            )
            for name in recalled
        ]
        for start in range(0, len(items), 100):
            await client.feedback(items=items[start : start + 100])
        assert (await commit(client, scope, session_id)).state == COMMITTED


async def rounds(service: Service, scope: str, count: int) -> None:
    chance, seen = random.Random(19), Counter[str]()
    async with AsyncClient.connect(service.address, attempts=1) as client:
        await client.remember([memory("fact", "The kiln is in the yard.")], scope=scope)
        for number in range(count):
            await race(client, scope, chance, seen, LEADS[number % len(LEADS)])
    # Both ends happened, or the rounds would show little.
    assert seen["committed"] > 0
    assert seen["committed"] + seen["recalled"] == count


@pytest.mark.essential
async def test_b19_100_parallel_commits_and_recalls(service: Service, scope: str) -> None:
    await rounds(service, scope, 3 if isinstance(service, ClusterService) else 10)


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_b19_100_parallel_commits_and_recalls_200_times(service: Service, scope: str) -> None:
    await rounds(service, scope, 200)


async def test_b17_500_recalls_at_once(service: Service, scope: str) -> None:
    """Beyond what is admitted they are refused as OVERLOADED; none fails for want of a connection."""
    async with AsyncClient.connect(service.address, attempts=1) as client:
        await client.remember([memory("fact", "The kiln is in the yard.")], scope=scope)
        opened = await client.activate("find the kiln", "warm hands", scope=scope)

        async def recall() -> str:
            try:
                await client.recall("kiln", scope=scope, session_id=opened.session_id, top_k=1, timeout=30)
            except ClientError as error:
                return error.reason
            return "OK"

        ends = Counter(await asyncio.gather(*(recall() for _ in range(500))))
        assert ends.keys() <= {"OK", "OVERLOADED"}
        # A scope's searches have their own bound, well below what the gateway takes in all.
        admitted = [GatewaySettings.model_fields[name].default for name in ("partition_searches", "partition_waiting")]
        assert ends["OK"] >= sum(admitted)
        ledger = await client.get_session(opened.session_id, scope=scope)
        assert ledger.retrieval_count == ends["OK"] + 1


async def test_feedback_on_one_memory_from_many_sides_is_counted_whole(service: Service, scope: str) -> None:
    sides = 40
    async with AsyncClient.connect(service.address, attempts=1) as client:
        await client.remember([memory("fact", "The kiln is in the yard.")], scope=scope)
        opened = await client.activate("find the kiln", "warm hands", scope=scope)
        shown = [await client.recall("kiln", scope=scope, session_id=opened.session_id, top_k=1) for _ in range(sides)]
        memory_id = shown[0].hits.observations[0].memory_id
        before = shown[0].hits.observations[0].score

        async def helped(retrieval_id: str) -> int:
            response = await client.feedback(
                retrieval_id, memory_feedback=[memory_feedback(memory_id, "used")], coverage="complete"
            )
            return response.results[0].applied.strengthened

        assert sum(await asyncio.gather(*(helped(answer.retrieval_id) for answer in shown))) == sides
        answer = await client.recall("kiln", scope=scope, session_id=opened.session_id, top_k=1)
        assert answer.hits.observations[0].score > before
        assert (await client.get_session(opened.session_id, scope=scope)).uncovered_count == 2


async def test_b10_cancelled_recalls_leave_every_answer_with_its_caller(service: Service, scope: str) -> None:
    async with AsyncClient.connect(service.address, attempts=1) as client:
        opened = [await client.activate(f"marker {i}", "g", scope=scope) for i in range(50)]
        chance = random.Random(10)

        async def cancelled(i: int, pause: float) -> None:
            session_id = opened[i % len(opened)].session_id
            task = asyncio.create_task(client.recall(f"question {i}", scope=scope, session_id=session_id))
            await asyncio.sleep(pause)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        for start in range(0, 1000, 100):
            await asyncio.gather(*(cancelled(start + i, chance.uniform(0, 0.02)) for i in range(100)))

        async def own(i: int) -> bool:
            shown = await client.get_session(opened[i].session_id, scope=scope, page_size=1)
            return shown.task == f"marker {i}"

        for _ in range(10):
            assert all(await asyncio.gather(*(own(i % len(opened)) for i in range(100))))


async def test_parts_of_feedback_that_come_at_once_add_up(service: Service, scope: str) -> None:
    async with AsyncClient.connect(service.address, attempts=1) as client:
        await client.remember([memory("fact", f"Kiln {i} is in yard {i * 7}.") for i in range(20)], scope=scope)
        opened = await client.activate("wash cups", "clean cups", scope=scope)
        answer = await client.recall("kiln yard", scope=scope, session_id=opened.session_id, top_k=20)
        shown = [hit.memory_id for hit in answer.hits.observations]
        assert len(shown) == 20
        responses = await asyncio.gather(
            *(
                client.feedback(answer.retrieval_id, memory_feedback=[memory_feedback(target, "already_known")])
                for target in shown
            )
        )
        assert sorted(len(response.results[0].outstanding) for response in responses) == list(range(20))
        last = await client.feedback(answer.retrieval_id, coverage="complete")
        assert last.results[0].coverage == session_pb2.COVERAGE_COMPLETE
