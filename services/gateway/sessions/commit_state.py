"""What one commit has to know before it decides."""

from __future__ import annotations

from dataclasses import dataclass

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import SessionRef
from remembrancer.model.selection import selection_of
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import fields_at
from remembrancer.store.registration import UNLISTED
from remembrancer.store.sessions import Session, session_reads
from services.gateway.shared.idempotency import FirstAnswer, Idempotency
from services.gateway.shared.named_sessions import owned
from services.gateway.shared.parts import Parts


@dataclass(frozen=True, slots=True)
class CommitState:
    """The state that a commit starts from.

    `members` are the N of the records that the session wrote, `used` the procedures it used with what was learned of
    them (None = nothing), `records` the session's own episode and procedure as stored (None = forgotten since).
    `paused` says that nothing is to be formed now. `erasures` are under way in the partition; `wiping` says that one of
    them takes this session in, so that what it held before must get into no new record. `unlisted` is a note of
    `registration`.
    """

    session: Session
    now_ms: int
    uncovered: int
    ever_written: bool
    unlisted: bytes | None
    members: list[int]
    used: dict[int, bytes | None]
    records: dict[int, bytes | None]
    paused: bool
    erasures: int
    wiping: bool


async def read_commit_state(
    parts: Parts, keys: PartitionKeys, ref: SessionRef, caller: str, idempotency: Idempotency, session_key: str
) -> CommitState | FirstAnswer:
    """Return the session and what hangs on it, or the first answer when the same request came in earlier.

    Errors: SessionNotFound, RequestIdReused, StoreUnavailable.
    """
    snapshot = await parts.store.read(
        session_reads(ref),
        ("ZCARD", keys.uncovered(ref.ledger)),
        ("HMGET", keys.meta, "n", UNLISTED),
        ("LRANGE", keys.written(ref.ledger), "0", "-1"),
        ("SMEMBERS", keys.used_procedures(ref.ledger)),
        ("EXISTS", keys.pause(caller, session_key)),
        ("HVALS", keys.erasures),
        *idempotency.reads(),
    )
    raw, uncovered, (n, unlisted), members, used, paused, erasures, *rest = snapshot.answers
    session = owned(ref, raw, snapshot.now_ms, caller, parts.retention)
    first = idempotency.first(rest)
    if first is not None:
        return first
    own = [n for n in (session.episode, session.procedure) if n]
    return CommitState(
        session=session,
        now_ms=snapshot.now_ms,
        uncovered=uncovered,
        ever_written=decode.last_number(n) > 0,
        unlisted=unlisted,
        members=[int(member) for member in members],
        used=await _fields(parts, keys.learned, sorted(int(name) for name in used)),
        records=await _fields(parts, keys.records, own),
        paused=bool(paused),
        erasures=len(erasures),
        wiping=any(_takes_in(raw, session.info) for raw in erasures),
    )


def _takes_in(raw: bytes, info: store_pb2.SessionInfo) -> bool:
    erasure = decode.message(store_pb2.Erasure, raw)
    if erasure is None or erasure.everything:
        return True
    return erasure.HasField("bounds") and selection_of(erasure.bounds).owns(info.axes, info.opened_at)


async def _fields(parts: Parts, key: str, ns: list[int]) -> dict[int, bytes | None]:
    return dict(zip(ns, await parts.store.read_one(fields_at(key, ns)), strict=True))
