"""Takes words out of sessions: of one whose episode goes, or of all when a whole scope is forgotten.

What cannot be read may hold any word: it goes as a whole.
"""

from __future__ import annotations

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.erasure import bare_info, bare_outcome, without_summary
from remembrancer.model.ids import parse_session
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied, fields_at
from services.gateway.memories.forgetting.mistyped import drop_unless_hash
from services.gateway.shared.parts import Parts


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
    ns = sorted(n for name in used if (n := decode.number(name)) is not None)
    learned = await parts.store.read_one(fields_at(keys.learned, ns))
    for n, raw in zip(ns, learned, strict=True):
        known = decode.message(store_pb2.Learned, raw)
        if raw is not None and (known is None or without_summary(known, session_id)):
            known = known or store_pb2.Learned()
            change.require_same("learned", keys.learned, str(n), raw)
            change.write("HSET", keys.learned, n, known.SerializeToString())
            change.announce(FeedOp.LEARNED, n)


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
