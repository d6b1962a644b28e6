"""What one more retrieval costs the store does not depend on how many came before (field case B5)."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import SessionRef, new_token
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied, PartitionStore
from remembrancer.store.sessions import Retention, enter_retrieval, new_retrieval, open_session, require_open, touch

RETENTION = Retention(idle_ms=3_600_000, kept_ms=7 * 86_400_000, stateless_ms=3_600_000)
EXPOSED = [f"sch_{n}" for n in range(1000, 1015)]
ROUNDS, PER_ROUND = 5, 200


async def test_b5_a_thousand_retrievals_cost_the_same_each(
    redis: Any, store: PartitionStore, keys: PartitionKeys
) -> None:
    session = SessionRef(keys.partition, new_token())
    change = Change(keys)
    open_session(change, session, store_pb2.SessionInfo(caller="local", continuity_id="c"), {"kiln": "two"}, RETENTION)
    touch(change, session, "local", RETENTION)
    await store.apply(change)

    async def retrieve() -> None:
        change = Change(keys)
        require_open(change, session, RETENTION)
        change.require_below("session size", keys.session(session.ledger), "count", 10_000)
        entry = store_pb2.Retrieval(caller="local", exposed=EXPOSED)
        enter_retrieval(change, new_retrieval(keys.partition, session), entry, RETENTION)
        touch(change, session, "local", RETENTION)
        assert isinstance(await store.apply(change), Applied)

    await retrieve()  # the scripts are known to the store
    costs = [await spent(redis)]
    for _ in range(ROUNDS):
        await asyncio.gather(*(retrieve() for _ in range(PER_ROUND)))
        costs.append(await spent(redis))
    for counted in zip(*costs, strict=True):
        rounds = [after - before for before, after in pairwise(counted)]
        assert max(rounds) < 1.1 * min(rounds)


async def spent(redis: Any) -> tuple[int, int]:
    """Return bytes that the store was sent, and bytes in its append-only file."""
    sent = await redis.info("stats")
    kept = await redis.info("persistence")
    return int(sent["total_net_input_bytes"]), int(kept["aof_current_size"])
