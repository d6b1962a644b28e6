"""Records whose stored bytes are damaged cost themselves and nothing else."""

from __future__ import annotations

import time

from redis import Redis

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory
from remembrancer.store.keys import ERASING, UNEMBEDDED, PartitionKeys, partition_of
from tests.service import Session, contents

GOOD = "The lighthouse keeper feeds the gulls at noon."
BAD = "The lighthouse keeper counts the ships at dusk."
NOISE = b"\xff\xff\xff not a record"


def test_c21_p33_a_damaged_record_is_left_out_and_the_rest_answers(
    service: LocalService, client: Client, session: Session
) -> None:
    keys = PartitionKeys(partition_of(session.scope))
    written = client.remember([memory("fact", GOOD), memory("fact", BAD)], scope=session.scope).results
    assert set(contents(session.recall("lighthouse keeper", "deep"))) == {GOOD, BAD}
    damaged = written[1].memory_id.removeprefix("sch_")
    with Redis.from_url(service.plan.store_url) as store:
        store.hset(keys.records, damaged, NOISE)
        store.hset(keys.learned, damaged, NOISE)
        # As if it had been written while the encoder was down: the refill meets it, and must outlive it.
        store.sadd(keys.unembedded, damaged, "no number")
        store.sadd(UNEMBEDDED, keys.partition)
        answer = session.recall("lighthouse keeper", "deep")
        assert contents(answer) == [GOOD]
        assert not answer.HasField("active_tier_error")
        assert not answer.HasField("deep_tier_error")
        deadline = time.monotonic() + 15
        while store.scard(keys.unembedded):
            assert time.monotonic() < deadline, "the refill does not get past the damaged record"
            time.sleep(0.1)
    again = client.remember([memory("fact", BAD)], scope=session.scope).results[0]
    assert again.memory_id != written[1].memory_id
    assert set(contents(session.recall("lighthouse keeper"))) == {GOOD, BAD}


def test_f9_a_damaged_partition_keeps_no_other_from_being_refilled_or_erased(
    service: LocalService, client: Client, session: Session
) -> None:
    fine, broken = PartitionKeys(partition_of(session.scope)), PartitionKeys("0" * 32)
    written = client.remember([memory("fact", GOOD)], scope=session.scope).results[0]
    with Redis.from_url(service.plan.store_url) as store:
        store.set(broken.unembedded, "no set")
        store.hset(broken.erasures, "1", NOISE)
        store.sadd(ERASING, broken.partition)
        store.sadd(UNEMBEDDED, broken.partition)
        try:
            # The second time the loops have met the damaged one for sure.
            for _ in range(2):
                store.sadd(fine.unembedded, written.memory_id.removeprefix("sch_"))
                store.sadd(UNEMBEDDED, fine.partition)
                time.sleep(2.5)
                assert store.scard(fine.unembedded) == 0
            assert contents(session.recall("lighthouse keeper")) == [GOOD]
        finally:
            store.srem(ERASING, broken.partition)
            store.srem(UNEMBEDDED, broken.partition)
            store.delete(broken.unembedded, broken.erasures)
