"""Takes words of records that are gone out of ledgers and remembered answers, wherever they are in the partition.

What cannot be read may hold any word: it goes as a whole.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.erasure import without_entities, without_words
from remembrancer.model.ids import parse_record
from remembrancer.model.ledger import target_of
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied, fields_at
from services.gateway.memories.forgetting.mistyped import drop_unless_hash
from services.gateway.memories.forgetting.sessions import scrub_all_words
from services.gateway.shared.parts import Parts
from services.gateway.shared.retries import insist

Plan = store_pb2.RecallPlan | store_pb2.ActivatePlan | store_pb2.ContextPlan

ANSWERS: Final[dict[str, type[Plan]]] = {
    "Recall": store_pb2.RecallPlan,
    "Activate": store_pb2.ActivatePlan,
    "RecallWithContext": store_pb2.ContextPlan,
}
"""RPCs whose remembered answer names entities."""

ATTEMPTS: Final = 16
CHANGING: Final = "what is to be erased changes all the time; the rest of it is erased later"


async def scrub_copies(parts: Parts, keys: PartitionKeys, *, everything: bool) -> None:
    """Go through the partition's ledgers and remembered answers; with `everything` through its sessions, too.

    Errors: Conflict when one of them changes each time it is looked at.
    """
    async for key in parts.sweeper.keys(keys.all_like("led")):
        await insist(partial(_scrub_ledger, parts, keys, key, everything=everything), ATTEMPTS, CHANGING)
    for rpc, kind in ANSWERS.items():
        async for key in parts.sweeper.keys(keys.all_like("req", rpc)):
            await insist(partial(_scrub_answer, parts, keys, key, kind), ATTEMPTS, CHANGING)
    if everything:
        async for key in parts.sweeper.keys(keys.all_like("ses")):
            await insist(partial(scrub_all_words, parts, keys, key), ATTEMPTS, CHANGING)


async def _scrub_ledger(parts: Parts, keys: PartitionKeys, key: str, *, everything: bool) -> bool:
    """Take the words out of one ledger; return whether it was as it was read."""
    if await drop_unless_hash(parts.store, keys, key):
        return True
    fields = await parts.store.read_one(("HGETALL", key))
    pairs = dict(zip(fields[::2], fields[1::2], strict=True))
    logs = {name.decode(): raw for name, raw in pairs.items() if _named(name, b"f:")}
    unread = [
        name
        for name, raw in pairs.items()
        if not _named(name, b"f:")
        and not (_named(name, b"r:") and decode.message(store_pb2.Retrieval, raw) is not None)
    ]
    parsed = {name: decode.message(store_pb2.FeedbackLog, raw) for name, raw in logs.items()}
    targets = {target_of(row) for log in parsed.values() if log is not None for row in log.rows}
    gone = await _gone(parts, keys, targets)
    change, changes = Change(keys), bool(unread)
    if unread:
        # A retrieval that went this way stays uncovered.
        change.write("HDEL", key, *unread)
    for name, log in parsed.items():
        if log is None or without_words(log, gone.__contains__, everything=everything):
            bare = log or store_pb2.FeedbackLog()
            change.require_same("feedback log", key, name, logs[name])
            change.write("HSET", key, name, bare.SerializeToString())
            changes = True
    return not changes or isinstance(await parts.store.apply(change), Applied)


def _named(name: bytes, prefix: bytes) -> bool:
    return name.startswith(prefix) and name.isascii()


async def _gone(parts: Parts, keys: PartitionKeys, targets: set[str]) -> set[str]:
    numbers = {target: parsed[1] for target in targets if (parsed := parse_record(target)) is not None}
    raws = await parts.store.read_one(fields_at(keys.records, numbers.values()))
    return {name for name, raw in zip(numbers, raws, strict=True) if raw is None}


async def _scrub_answer(parts: Parts, keys: PartitionKeys, key: str, kind: type[Plan]) -> bool:
    """Take the words out of one remembered answer; return whether it was as it was read."""
    if await drop_unless_hash(parts.store, keys, key):
        return True
    raw = await parts.store.read_one(("HGET", key, "answer"))
    if raw is None:
        return True
    plan = decode.message(kind, raw)
    if plan is not None and not without_entities(plan if isinstance(plan, store_pb2.RecallPlan) else plan.recall):
        return True
    change = Change(keys)
    change.require_same("remembered answer", key, "answer", raw)
    if plan is None:
        change.write("DEL", key)
    else:
        change.write("HSET", key, "answer", plan.SerializeToString())
    return isinstance(await parts.store.apply(change), Applied)
