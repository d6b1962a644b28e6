"""Takes words of records that are gone out of ledgers and sessions, and what cannot be read out of remembered answers.

Indexes say where such words may stand (`remembrancer/store/traces.py`). What cannot be read may hold any word: it goes
as a whole. Remembered answers that can be read hold no words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.erasure import without_words
from remembrancer.model.ids import parse_record
from remembrancer.model.ledger import target_of
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied, fields_at
from remembrancer.store.traces import commented_retrievals
from services.gateway.memories.forgetting.mistyped import SET, SORTED_SET, drop_mistyped, drop_unless_hash
from services.gateway.memories.forgetting.sessions import left_without_records, scrub_all_words, scrub_uses, within
from services.gateway.shared.parts import Parts
from services.gateway.shared.retries import insist

Plan = store_pb2.RecallPlan | store_pb2.ActivatePlan | store_pb2.ContextPlan

ANSWERS: Final[dict[str, type[Plan]]] = {
    "Recall": store_pb2.RecallPlan,
    "Activate": store_pb2.ActivatePlan,
    "RecallWithContext": store_pb2.ContextPlan,
}
"""RPCs whose remembered answers are traced."""

PAGE: Final = 200
"""Records and sessions looked at together."""

ATTEMPTS: Final = 16
CHANGING: Final = "what is to be erased changes all the time; the rest of it is erased later"


async def scrub_copies(parts: Parts, keys: PartitionKeys, erasure: store_pb2.Erasure) -> None:
    """Scrub what refers to the records of an erasure, and the sessions that its target takes in.

    Errors: Conflict when something of it changes each time it is looked at.
    """
    change = Change(keys)
    sorted_sets = dict.fromkeys((keys.sessions, keys.stateless, keys.answers), SORTED_SET)
    if await drop_mistyped(parts.store, change, {keys.to_scrub: SET, **sorted_sets}):
        await parts.store.apply(change)
    named = [str(erasure.n).encode()] if erasure.n else []
    while named or (named := await parts.store.read_one(("SRANDMEMBER", keys.to_scrub, str(PAGE)))):
        await _scrub_left(parts, keys, named)
        named = []
    if erasure.HasField("bounds"):
        for ledger in await within(parts, keys, erasure.bounds):
            await _scrub_session(parts, keys, ledger)
    if erasure.everything:
        await _scrub_everything(parts, keys)


async def _scrub_left(parts: Parts, keys: PartitionKeys, names: Sequence[bytes]) -> None:
    """Do what records that went, and the sessions that wrote them, left to do."""
    ns = [n for name in names if (n := decode.number(name)) is not None]
    entries = (await parts.store.read(*(("SMEMBERS", keys.commented(n)) for n in ns))).answers
    for ledger, retrievals in commented_retrievals(keys, {entry for found in entries for entry in found}).items():
        for key in retrievals:
            await insist(partial(_scrub_feedback, parts, keys, ledger, f"f:{key}"), ATTEMPTS, CHANGING)
    for name in names:
        if decode.number(name) is None and await left_without_records(parts, keys, decode.name(name)):
            await _scrub_session(parts, keys, decode.name(name))
    change = Change(keys)
    for n in ns:
        change.write("UNLINK", keys.commented(n))
    change.write("SREM", keys.to_scrub, *names)
    await parts.store.apply(change)


async def _scrub_everything(parts: Parts, keys: PartitionKeys) -> None:
    sessions, stateless, answers = (
        await parts.store.read(*(("ZRANGE", key, "0", "-1") for key in (keys.sessions, keys.stateless, keys.answers)))
    ).answers
    for ledger in map(decode.name, sessions):
        await insist(partial(scrub_all_words, parts, keys, keys.session(ledger)), ATTEMPTS, CHANGING)
    for ledger in map(decode.name, (*sessions, *stateless)):
        await insist(partial(_scrub_ledger, parts, keys, keys.ledger(ledger)), ATTEMPTS, CHANGING)
    for key in map(decode.name, answers):
        for rpc, kind in ANSWERS.items():
            if key.startswith(keys.all_like("req", rpc).removesuffix("*")):
                await insist(partial(_drop_unreadable, parts, keys, key, kind), ATTEMPTS, CHANGING)


async def _scrub_session(parts: Parts, keys: PartitionKeys, ledger: str) -> None:
    """Take every word out of a session, its ledger, and what it said of procedures."""
    await insist(partial(scrub_all_words, parts, keys, keys.session(ledger)), ATTEMPTS, CHANGING)
    await insist(partial(_scrub_ledger, parts, keys, keys.ledger(ledger)), ATTEMPTS, CHANGING)
    await insist(partial(scrub_uses, parts, keys, ledger), ATTEMPTS, CHANGING)


async def _scrub_feedback(parts: Parts, keys: PartitionKeys, ledger: str, name: str) -> bool:
    """Take the words on records that are gone out of one feedback log; return whether it was as it was read."""
    if await drop_unless_hash(parts.store, keys, ledger):
        return True
    raw = await parts.store.read_one(("HGET", ledger, name))
    if raw is None:
        return True
    log = decode.message(store_pb2.FeedbackLog, raw)
    if log is not None:
        gone = await _gone(parts, keys, {target_of(row) for row in log.rows})
        if not without_words(log, gone.__contains__, everything=False):
            return True
    change = Change(keys)
    change.require_same("feedback log", ledger, name, raw)
    change.write("HSET", ledger, name, (log or store_pb2.FeedbackLog()).SerializeToString())
    return isinstance(await parts.store.apply(change), Applied)


async def _scrub_ledger(parts: Parts, keys: PartitionKeys, key: str) -> bool:
    """Take every word out of one ledger; return whether it was as it was read."""
    if await drop_unless_hash(parts.store, keys, key):
        return True
    fields = await parts.store.read_one(("HGETALL", key))
    change, changes = Change(keys), False
    for name, raw in zip(fields[::2], fields[1::2], strict=True):
        if _named(name, b"f:"):
            log = decode.message(store_pb2.FeedbackLog, raw)
            if log is not None and not without_words(log, lambda _: True, everything=True):
                continue
            change.require_same("feedback log", key, name.decode(), raw)
            change.write("HSET", key, name, (log or store_pb2.FeedbackLog()).SerializeToString())
            changes = True
        elif not _named(name, b"r:") or decode.message(store_pb2.Retrieval, raw) is None:
            # A retrieval that went this way stays uncovered.
            change.write("HDEL", key, name)
            changes = True
    return not changes or isinstance(await parts.store.apply(change), Applied)


def _named(name: bytes, prefix: bytes) -> bool:
    return name.startswith(prefix) and name.isascii()


async def _gone(parts: Parts, keys: PartitionKeys, targets: set[str]) -> set[str]:
    numbers = {target: parsed[1] for target in targets if (parsed := parse_record(target)) is not None}
    raws = await parts.store.read_one(fields_at(keys.records, numbers.values()))
    return {name for name, raw in zip(numbers, raws, strict=True) if raw is None}


async def _drop_unreadable(parts: Parts, keys: PartitionKeys, key: str, kind: type[Plan]) -> bool:
    """Drop a remembered answer that cannot be read; return whether it was as it was read."""
    if await drop_unless_hash(parts.store, keys, key):
        return True
    raw = await parts.store.read_one(("HGET", key, "answer"))
    if raw is None or decode.message(kind, raw) is not None:
        return True
    change = Change(keys)
    change.require_same("remembered answer", key, "answer", raw)
    change.write("DEL", key)
    return isinstance(await parts.store.apply(change), Applied)
