"""Takes words out of sessions: of one whose episode goes, of those within a filter, or of all of a scope.

What cannot be read may hold any word: it goes as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.erasure import bare_info, bare_outcome, without_use_words
from remembrancer.model.ids import SessionRef, parse_session
from remembrancer.model.selection import selection_of
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied, fields_at
from services.gateway.memories.forgetting.mistyped import drop_unless_hash
from services.gateway.shared.parts import Parts

PAGE: Final = 200
"""Sessions looked at together."""


async def scrub_session(parts: Parts, change: Change, session_id: str) -> None:
    """Add to `change` what takes an episode's words out of its session and of the procedures that were used in it."""
    ref, keys = parse_session(session_id), change.keys
    if ref is None:
        return
    key = keys.session(ref.ledger)
    change.write("HDEL", keys.episodes, ref.ledger)
    outcome, used = (
        await parts.store.read(("HGET", key, "outcome"), ("SMEMBERS", keys.used_procedures(ref.ledger)))
    ).answers
    if outcome is not None:
        change.require_same("session outcome", key, "outcome", outcome)
        change.write("HSET", key, "outcome", _bare_outcome(outcome))
    await _scrub_uses(parts, change, session_id, used, everything=False)


async def scrub_uses(parts: Parts, keys: PartitionKeys, ledger: str) -> bool:
    """Take what a session said of procedures out of what was learned of them; return whether they were as read."""
    change = Change(keys)
    used = await parts.store.read_one(("SMEMBERS", keys.used_procedures(ledger)))
    changes = await _scrub_uses(parts, change, str(SessionRef(keys.partition, ledger)), used, everything=True)
    return not changes or isinstance(await parts.store.apply(change), Applied)


async def within(parts: Parts, keys: PartitionKeys, bounds: store_pb2.ErasureBounds) -> list[str]:
    """Return the ledgers of the sessions that a filter takes in: their axes match, and they were opened in its time."""
    selection, found = selection_of(bounds), []
    ledgers = [decode.name(raw) for raw in await parts.store.read_one(("ZRANGE", keys.sessions, "0", "-1"))]
    for start in range(0, len(ledgers), PAGE):
        page = ledgers[start : start + PAGE]
        infos = (await parts.store.read(*(("HGET", keys.session(ledger), "info") for ledger in page))).answers
        for ledger, raw in zip(page, infos, strict=True):
            info = decode.message(store_pb2.SessionInfo, raw)
            if info is not None and selection.owns(info.axes, info.opened_at):
                found.append(ledger)
    return found


async def left_without_records(parts: Parts, keys: PartitionKeys, ledger: str) -> bool:
    """Return whether nothing is left of what a session wrote, its episode and its procedure included."""
    reads = ("LLEN", keys.written(ledger)), ("HMGET", keys.session(ledger), "episode", "procedure")
    written, own = (await parts.store.read(*reads)).answers
    ns = [n for raw in own if (n := decode.number(raw)) is not None]
    return not written and not any(await parts.store.read_one(fields_at(keys.records, ns)))


async def _scrub_uses(
    parts: Parts, change: Change, session_id: str, used: Iterable[bytes], *, everything: bool
) -> bool:
    keys, changes = change.keys, False
    ns = sorted(n for name in used if (n := decode.number(name)) is not None)
    learned = await parts.store.read_one(fields_at(keys.learned, ns))
    for n, raw in zip(ns, learned, strict=True):
        known = decode.message(store_pb2.Learned, raw)
        if raw is not None and (known is None or without_use_words(known, session_id, everything=everything)):
            known = known or store_pb2.Learned()
            change.require_same("learned", keys.learned, str(n), raw)
            change.write("HSET", keys.learned, n, known.SerializeToString())
            change.announce(FeedOp.LEARNED, n)
            changes = True
    return changes


async def scrub_all_words(parts: Parts, keys: PartitionKeys, key: str) -> bool:
    """Take every word out of one session; return whether it was as it was read.

    It stays in its state, so that an open one can still be committed. One that nobody can have any more goes.
    """
    if await drop_unless_hash(parts.store, keys, key):
        return True
    info, outcome, context = await parts.store.read_one(("HMGET", key, "info", "outcome", "ctx"))
    change = Change(keys)
    change.require_same("session", key, "info", info)
    if info is None:
        change.write("UNLINK", key)
        return isinstance(await parts.store.apply(change), Applied)
    change.require_same("session outcome", key, "outcome", outcome)
    change.require_same("session context", key, "ctx", context)
    known = decode.message(store_pb2.SessionInfo, info) or store_pb2.SessionInfo()
    change.write("HSET", key, "info", bare_info(known).SerializeToString())
    change.write("HSET", key, "ctx", "{}")
    if outcome is not None:
        change.write("HSET", key, "outcome", _bare_outcome(outcome))
    return isinstance(await parts.store.apply(change), Applied)


def _bare_outcome(raw: bytes) -> bytes:
    known = decode.message(store_pb2.SessionOutcome, raw) or store_pb2.SessionOutcome()
    return bare_outcome(known).SerializeToString()
