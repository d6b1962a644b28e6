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
from remembrancer.store.partition import Applied
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
    names = sorted(name.decode() for name in used)
    learned = await parts.store.read_one(("HMGET", keys.learned, *names))
    for name, raw in zip(names, learned, strict=True):
        known = decode.message(store_pb2.Learned, raw)
        if raw is not None and (known is None or without_summary(known, session_id)):
            known = known or store_pb2.Learned()
            change.require_same("learned", keys.learned, name, raw)
            change.write("HSET", keys.learned, name, known.SerializeToString())
            change.announce(FeedOp.LEARNED, int(name))


async def scrub_all_words(parts: Parts, keys: PartitionKeys, key: str) -> bool:
    """Take every word out of one session; return whether it was as it was read.

    It stays in its state, so that an open one can still be committed.
    """
    info, outcome, context = await parts.store.read_one(("HMGET", key, "info", "outcome", "ctx"))
    if info is None:
        return True
    change = Change(keys)
    change.require_same("session", key, "info", info)
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
