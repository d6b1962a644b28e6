"""Carries out erasures: first the records with all that is derived from them, then the copies elsewhere.

Every chunk is one change that also moves the erasure on, so that whoever finds one half done can go on with it: the
call that began it, or any gateway's background task.
"""

from __future__ import annotations

from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import from_ms
from remembrancer.model.errors import Conflict
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from services.gateway.memories.forgetting.copies import scrub_copies
from services.gateway.memories.forgetting.records import next_chunk
from services.gateway.memories.forgetting.registry import strike_out
from services.gateway.shared.idempotency import WRITES_MS
from services.gateway.shared.parts import Parts
from services.gateway.shared.retries import tries

ATTEMPTS: Final = 24
"""Tries of a chunk while its records, or those with equal texts and speakers, are written."""


async def erased_by(parts: Parts, keys: PartitionKeys, name: str) -> int:
    """Return how many records an erasure erased so far, or in all when somebody else has ended it."""
    raw, total = (await parts.store.read(("HGET", keys.erasures, name), ("GET", keys.erased(name)))).answers
    return int(total or 0) if raw is None else store_pb2.Erasure.FromString(raw).erased


async def erase_records(parts: Parts, keys: PartitionKeys, name: str) -> None:
    """Erase records until none of the erasure is left: no later search finds any of them.

    Errors: Conflict when the next of them change each time they are looked at.
    """
    while await _erase_chunk(parts, keys, name):
        pass


async def _erase_chunk(parts: Parts, keys: PartitionKeys, name: str) -> bool:
    """Erase the next records; return whether there may be more of them."""
    async for _ in tries(ATTEMPTS):
        snapshot = await parts.store.read(("HGET", keys.erasures, name))
        raw = snapshot.answers[0]
        if raw is None:
            return False
        erasure = store_pb2.Erasure.FromString(raw)
        if erasure.stage == store_pb2.ERASURE_STAGE_COPIES:
            return False
        change = await next_chunk(parts, keys, erasure)
        erasure.at.CopyFrom(from_ms(snapshot.now_ms))
        change.require_same("erasure", keys.erasures, name, raw)
        change.write("HSET", keys.erasures, name, erasure.SerializeToString())
        outcome = await parts.store.apply(change)
        if isinstance(outcome, Applied):
            parts.warm(keys.partition, outcome.head)
            return True
    raise Conflict("the memories are changed too often meanwhile; they are erased later")


async def erase_copies(parts: Parts, keys: PartitionKeys, name: str) -> None:
    """Erase the copies and end the erasure. Errors: Conflict; the erasure is as it was then."""
    raw = await parts.store.read_one(("HGET", keys.erasures, name))
    if raw is None:
        return
    erasure = store_pb2.Erasure.FromString(raw)
    await scrub_copies(parts, keys, erasure)
    if erasure.everything:
        await strike_out(parts, keys, erasure.scope)
    # Wanted before the erasure is gone: a crash in between costs a rewrite too many, not one too few.
    await parts.sweeper.want_rewrite()
    change = Change(keys)
    change.write("HDEL", keys.erasures, name)
    change.write("SET", keys.erased(name), erasure.erased, "PX", WRITES_MS)
    await parts.store.apply(change)
