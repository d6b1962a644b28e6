"""The active worker as a real process beside a real Valkey."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import grpc
import numpy as np
import pytest

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.runtime.status import reason_of
from remembrancer.v1 import common_pb2
from tests.integration.processes import cpu_seconds
from tests.integration.tiers import DIMENSION, MODEL, Partition, Tier, direction, opened, take_model, wanted
from tests.records import record
from tests.valkey import Valkey


async def test_every_write_is_seen_by_the_search_after_it(partition: Partition, active: Tier) -> None:
    for n in range(1, 40):
        await partition.put(n, record(f"the code of vault {n} is q{n}z"), direction(f"v{n}"))
        assert (await active.found(partition, f"q{n}z"))[0] == n
        assert (await active.found(partition, "", direction(f"v{n}")))[0] == n


async def test_reads_between_concurrent_writes_see_all_that_was_acknowledged(
    partition: Partition, active: Tier
) -> None:
    for n in range(1, 31):
        await partition.put(n, record(f"item q{n}z"), direction(f"v{n}"))
        requests = [wanted(partition, f"q{k}z") for k in range(max(1, n - 4), n + 1)]
        answers = await asyncio.gather(*(active.stub.Search(each, timeout=10) for each in requests))
        assert [a.direct[0].n for a in answers] == list(range(max(1, n - 4), n + 1))


async def test_updates_erasures_and_feedback_arrive(partition: Partition, active: Tier) -> None:
    await partition.put(1, record("Ann lives in Lisbon"), direction("lisbon"))
    await partition.put(2, record("Ben lives in Rome"), direction("rome"))
    assert await active.found(partition, "Lisbon") == [1]
    await partition.put(1, record("Ann lives in Porto"), direction("porto"))
    assert await active.found(partition, "Lisbon") == []
    assert await active.found(partition, "Porto") == [1]
    (before,) = (await active.search(partition, "Rome")).direct
    await partition.learn(2, store_pb2.Learned(helped=3))
    (after,) = (await active.search(partition, "Rome")).direct
    assert after.bonus > before.bonus
    assert after.relevance == before.relevance
    await partition.erase(2)
    assert await active.found(partition, "Rome", direction("rome")) == [1]
    await partition.erase(1)
    answer = await active.search(partition, "Porto", direction("porto"))
    assert (list(answer.direct), answer.any_live) == ([], False)


async def test_c9_c10_a_fresh_worker_answers_as_the_one_that_grew(
    partition: Partition, tier_store: Valkey, active: Tier
) -> None:
    for n in range(1, 121):
        await partition.put(
            n, record(f"memo {n} about topic {n % 7}", axes={"user_id": f"u{n % 2}"}), direction(f"t{n % 9}")
        )
        if n % 20 == 0:
            await active.search(partition, "topic")
            await partition.put(n - 3, record(f"memo {n - 3} rewritten, topic 3"), direction("t1"))
    async with Tier("active", tier_store.url) as fresh:
        for query, vector in (("topic 3", None), ("rewritten memo", direction("t1")), ("", direction("t4"))):
            grown = await active.search(partition, query, vector, 30)
            assert grown.direct
            assert grown == await fresh.search(partition, query, vector, 30)


async def test_a_cold_load_of_several_pages_is_whole(partition: Partition, active: Tier) -> None:
    await partition.fill({n: (record(f"memo q{n}z"), direction(f"v{n}")) for n in range(1, 3502)})
    answers = [await active.search(partition, f"q{n}z", direction(f"v{n}")) for n in (1, 1777, 3501)]
    assert [a.direct[0].n for a in answers] == [1, 1777, 3501]
    assert all(a.direct[0].relevance > 0.8 for a in answers)


async def test_a_partition_never_shows_anothers_records(partition: Partition, active: Tier) -> None:
    other = Partition(partition.redis, "another")
    await partition.put(1, record("the falcon code is 7713"), direction("q"))
    await other.put(2, record("the falcon nests here"), direction("q"))
    assert await active.found(partition, "falcon", direction("q")) == [1]
    assert await active.found(other, "falcon", direction("q")) == [2]


async def test_c21_a_damaged_vector_leaves_its_record_to_be_found_by_words(partition: Partition, active: Tier) -> None:
    await partition.put(1, record("the falcon code is 7713"), b"\x01\x02\x03")
    await partition.put(2, record("the raven code is 9"), direction("q"))
    await partition.put(3, record("the kestrel code is 1"), np.full(DIMENSION, np.nan, np.float32))
    assert await active.found(partition, "falcon", direction("q")) == [2, 1]
    assert (await active.found(partition, "kestrel"))[0] == 3


async def test_p33_unreadable_records_are_passed_over_and_logged(partition: Partition, active: Tier) -> None:
    await partition.redis.hset(partition.keys.records, "no number", b"\xff")
    await partition.put(1, b"\x0a\xff")
    await partition.put(2, record("the falcon code is 7713"), direction("q"))
    assert await active.found(partition, "falcon") == [2]
    await partition.put(3, b"\xff")
    await partition.put(4, record("a raven and a falcon"))
    assert sorted(await active.found(partition, "falcon")) == [2, 4]
    told = [line for line in active.log().splitlines() if partition.id in line and "damaged" in line]
    assert [json.loads(line)["n"] for line in told] == [[1, 0], [3]]


async def test_f9_a_malformed_feed_entry_does_not_stop_the_ones_after_it(partition: Partition, active: Tier) -> None:
    await partition.put(1, record("one falcon"))
    assert await active.found(partition, "falcon") == [1]
    await partition.announce_raw(nonsense="x")
    await partition.announce_raw(op="r", n="not a number")
    await partition.put(2, record("two falcon"))
    assert await active.found(partition, "falcon") == [1, 2]


async def test_b13_repeated_and_disordered_entries_change_nothing(partition: Partition, active: Tier) -> None:
    await partition.put(1, record("one falcon"), direction("a"))
    await partition.put(2, record("two falcons"), direction("b"))
    first = await active.search(partition, "falcon", direction("a"))
    for n in (2, 1, 2, 2, 1):
        await partition.announce(n)
    assert await active.search(partition, "falcon", direction("a")) == first


async def test_a_trimmed_feed_does_not_hide_anything(partition: Partition, active: Tier) -> None:
    await partition.put(1, record("one falcon"))
    await active.search(partition, "falcon")
    for n in range(2, 8):
        await partition.put(n, record(f"falcon {n}"))
    await partition.redis.xtrim(partition.keys.feed, maxlen=1)
    assert await active.found(partition, "falcon") == list(range(1, 8))


async def test_b14_after_the_store_lost_its_data_nothing_old_is_answered(partition: Partition, active: Tier) -> None:
    await partition.put(1, record("the falcon code is 7713"), direction("q"))
    assert await active.found(partition, "falcon") == [1]
    await partition.redis.delete(partition.keys.records, partition.keys.vectors(MODEL), partition.keys.feed)
    await partition.redis.delete(partition.keys.meta)
    partition.head = ""
    answer = await active.search(partition, "falcon", direction("q"))
    assert (list(answer.direct), answer.any_live) == ([], False)
    await partition.put(9, record("another falcon"), direction("q"))
    assert await active.found(partition, "falcon", direction("q")) == [9]


async def test_p29_without_a_query_vector_words_answer(partition: Partition, active: Tier) -> None:
    await partition.put(1, record("the falcon code is 7713"), direction("a"))
    await partition.put(2, record("cats purr"), direction("b"))
    (candidate,) = (await active.search(partition, "falcon?")).direct
    assert candidate.n == 1
    assert candidate.similarity == 0


async def test_procedures_come_apart_from_memories(partition: Partition, active: Tier) -> None:
    procedure = record("restart the falcon service")
    procedure.kind = store_pb2.RECORD_KIND_PROCEDURE
    procedure.procedure.context["language"] = "go"
    await partition.put(1, procedure, direction("q"))
    await partition.put(2, record("the falcon service was slow"), direction("q"))
    request = wanted(partition, "falcon service", direction("q"))
    request.procedures = 3
    answer = await active.stub.Search(request, timeout=10)
    assert ([c.n for c in answer.direct], [p.n for p in answer.procedures]) == ([2], [1])
    request.task_context["language"] = "rust"
    assert not (await active.stub.Search(request, timeout=10)).procedures


async def test_filters_hold_in_the_worker(partition: Partition, active: Tier) -> None:
    for n, user in enumerate(("ana", "ben", "ana"), 1):
        await partition.put(n, record("falcon", axes={"user_id": user}), direction("q"))
    assert await active.found(partition, "falcon", direction("q"), user_id="ana") == [1, 3]


async def test_warming_loads_without_an_answer(partition: Partition, active: Tier) -> None:
    await partition.put(1, record("falcon"))
    await active.stub.Warm(tier_pb2.WarmRequest(partition=partition.id, head=partition.head), timeout=5)
    for _ in range(100):
        status = await active.stub.GetStatus(tier_pb2.GetStatusRequest(), timeout=5)
        if partition.id in status.partitions:
            break
        await asyncio.sleep(0.02)
    assert partition.id in status.partitions
    assert (status.worker_id, status.tier) == ("active-test", common_pb2.TIER_ACTIVE)


async def test_p33_a_query_of_another_model_is_searched_by_words(partition: Partition, active: Tier) -> None:
    await partition.put(1, record("falcon"), direction("q"))
    await partition.put(2, record("raven"), direction("q"))
    request = wanted(partition, "falcon", direction("q"))
    request.model_id = "foreign@1"
    assert [c.n for c in (await active.stub.Search(request, timeout=10)).direct] == [1]


async def test_f5_cancelled_searches_soon_cost_nothing_and_leave_a_worker_that_answers(
    partition: Partition, active: Tier
) -> None:
    for n in range(1, 50):
        await partition.put(n, record(f"falcon {n}"), direction(f"v{n}"))
    calls = [active.stub.Search(wanted(partition, "falcon", direction(f"v{n % 40}"))) for n in range(500)]
    await asyncio.sleep(0.05)
    for call in calls:
        call.cancel()
    ends = await asyncio.gather(*calls, return_exceptions=True)
    cancelled = sum(isinstance(end, asyncio.CancelledError) for end in ends)
    assert cancelled > len(calls) / 2, "most were cancelled before their answer"
    await asyncio.sleep(0.3)
    before = cpu_seconds(active.process.pid)
    await asyncio.sleep(0.5)
    assert cpu_seconds(active.process.pid) - before < 0.1
    assert (await active.found(partition, "falcon 7", direction("v7")))[0] == 7


async def test_a_partition_beyond_the_memory_budget_is_refused_and_the_others_served(
    partition: Partition, tier_store: Valkey
) -> None:
    terms = {n: store_pb2.Analysis(terms=[f"w{n}x{k}" for k in range(60)]) for n in range(1, 2001)}
    await partition.fill({n: (record("many words", analysis=analysis), None) for n, analysis in terms.items()})
    other = Partition(partition.redis, "a small one")
    await other.put(1, record("falcon"))
    async with Tier("active", tier_store.url, MEMORY_MIB="16") as small:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await small.stub.Search(wanted(partition, "w1x1"), timeout=60)
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert reason_of(refused.value) == "PARTITION_TOO_LARGE"
        assert await small.found(other, "falcon") == [1]


async def test_without_the_store_a_held_partition_answers_and_a_changed_one_says_so(tmp_path: Path) -> None:
    with Valkey(tmp_path) as valkey:
        take_model(valkey)
        async with Tier("active", valkey.url) as worker:
            async with opened(valkey, "outage") as partition:
                await partition.put(1, record("falcon"))
                assert await worker.found(partition, "falcon") == [1]
                valkey.kill()
                assert await worker.found(partition, "falcon") == [1]
                partition.head = "2-1"
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await worker.search(partition, "falcon")
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
            assert reason_of(refused.value) == "STORE_UNAVAILABLE"
            assert str(valkey.port) not in str(refused.value.details())
            valkey.start()
            async with opened(valkey, "outage") as partition:
                await partition.put(5, record("falcon again"))
                assert await worker.found(partition, "falcon") == [5]
            assert await worker.end() == 0
