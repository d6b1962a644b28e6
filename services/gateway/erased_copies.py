"""Takes words of records that are gone out of ledgers and remembered answers, wherever they are in the partition."""

from __future__ import annotations

from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.erasure import without_labels, without_words
from remembrancer.model.ids import parse_record
from remembrancer.model.ledger import target_of
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import fields_at
from services.gateway.erased_sessions import scrub_all_words
from services.gateway.parts import Parts

Plan = store_pb2.RecallPlan | store_pb2.ActivatePlan | store_pb2.ContextPlan

ANSWERS: Final[dict[str, type[Plan]]] = {
    "Recall": store_pb2.RecallPlan,
    "Activate": store_pb2.ActivatePlan,
    "RecallWithContext": store_pb2.ContextPlan,
}
"""RPCs whose remembered answer names entities."""


async def scrub_copies(parts: Parts, keys: PartitionKeys, *, everything: bool) -> None:
    """Go through the partition's ledgers and remembered answers; with `everything` through its sessions, too."""
    async for key in parts.sweeper.keys(keys.all_like("led")):
        await _scrub_ledger(parts, keys, key, everything=everything)
    for rpc, kind in ANSWERS.items():
        async for key in parts.sweeper.keys(keys.all_like("req", rpc)):
            await _scrub_answer(parts, keys, key, kind)
    if everything:
        async for key in parts.sweeper.keys(keys.all_like("ses")):
            await scrub_all_words(parts, keys, key)


async def _scrub_ledger(parts: Parts, keys: PartitionKeys, key: str, *, everything: bool) -> None:
    fields = (await parts.store.read(("HGETALL", key))).answers[0]
    pairs = zip(fields[::2], fields[1::2], strict=True)
    logs = {name.decode(): raw for name, raw in pairs if name.startswith(b"f:")}
    parsed = {name: store_pb2.FeedbackLog.FromString(raw) for name, raw in logs.items()}
    targets = {target_of(row) for log in parsed.values() for row in log.rows}
    gone = await _gone(parts, keys, targets)
    for name, log in parsed.items():
        if without_words(log, gone.__contains__, everything=everything):
            change = Change(keys)
            # A log that was added to meanwhile holds new words on targets that are gone, which its writer chose.
            change.require_same("feedback log", key, name, logs[name])
            change.write("HSET", key, name, log.SerializeToString())
            await parts.store.apply(change)


async def _gone(parts: Parts, keys: PartitionKeys, targets: set[str]) -> set[str]:
    numbers = {target: parsed[1] for target in targets if (parsed := parse_record(target)) is not None}
    raws = (await parts.store.read(fields_at(keys.records, numbers.values()))).answers[0]
    return {name for name, raw in zip(numbers, raws, strict=True) if raw is None}


async def _scrub_answer(parts: Parts, keys: PartitionKeys, key: str, kind: type[Plan]) -> None:
    raw = (await parts.store.read(("HGET", key, "answer"))).answers[0]
    if raw is None:
        return
    plan = kind.FromString(raw)
    if without_labels(plan if isinstance(plan, store_pb2.RecallPlan) else plan.recall):
        change = Change(keys)
        change.require_same("remembered answer", key, "answer", raw)
        change.write("HSET", key, "answer", plan.SerializeToString())
        await parts.store.apply(change)
