"""What one feedback call has to know before it decides: ledgers, sessions, and the records that it teaches about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import from_ms
from remembrancer.model.ids import RetrievalRef, SessionRef, parse_record
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Read, fields_at
from remembrancer.store.sessions import Session, session_from, session_reads
from remembrancer.v1 import session_pb2
from services.gateway.sessions.comments import gone_comments
from services.gateway.shared.idempotency import Idempotency
from services.gateway.shared.parts import Parts


@dataclass(frozen=True, slots=True)
class Ledgered:
    """One retrieval with its feedback log, and both as they stand in the store."""

    retrieval: store_pb2.Retrieval
    log: store_pb2.FeedbackLog
    raw: bytes
    raw_log: bytes | None


@dataclass(frozen=True, slots=True)
class FeedbackState:
    """The state that a feedback call starts from.

    `retrievals` are the caller's own. `alive` are the N of exposed records that were not erased since. `records` holds
    those records that the call may change or name as replacements. `gone_comments` are entries to be taken out of the
    index of feedback with words, by N.
    """

    keys: PartitionKeys
    at: timestamp_pb2.Timestamp
    retrievals: dict[RetrievalRef, Ledgered]
    sessions: dict[SessionRef, Session]
    alive: set[int]
    learned: dict[int, bytes | None]
    records: dict[int, bytes | None]
    gone_comments: dict[int, list[str]]


async def read_feedback_state(
    parts: Parts,
    keys: PartitionKeys,
    caller: str,
    refs: Sequence[RetrievalRef | None],
    items: Sequence[session_pb2.FeedbackItem],
    idempotency: Idempotency,
) -> FeedbackState | bytes:
    """Return what the call touches, or the first answer when the same request came in earlier.

    Errors: RequestIdReused, StoreUnavailable.
    """
    present = [ref for ref in refs if ref is not None]
    sessions = list(dict.fromkeys(SessionRef(r.partition, r.ledger) for r in present if not r.stateless))
    reads: list[Read] = [("HMGET", keys.ledger(r.ledger), f"r:{r.key}", f"f:{r.key}") for r in present]
    reads += [session_reads(session) for session in sessions]
    snapshot = await parts.store.read(*reads, *idempotency.reads())
    first = idempotency.first(snapshot.answers[len(reads) :])
    if first is not None:
        return first.answer
    found = dict(zip(present, snapshot.answers, strict=False))
    retrievals = {
        ref: Ledgered(retrieval, decode.log(log), raw, log)
        for ref, (raw, log) in found.items()
        if (retrieval := decode.message(store_pb2.Retrieval, raw)) is not None and retrieval.caller == caller
    }
    loaded = (
        session_from(ref, raw, snapshot.now_ms, parts.retention)
        for ref, raw in zip(sessions, snapshot.answers[len(present) : len(reads)], strict=True)
    )
    own = {ref.ledger for ref in retrievals}
    alive, learned, records = await _records(parts, keys, _exposed(retrievals.values()), _named(items))
    return FeedbackState(
        keys=keys,
        at=from_ms(snapshot.now_ms),
        retrievals=retrievals,
        sessions={s.ref: s for s in loaded if s is not None and s.ref.ledger in own},
        alive=alive,
        learned=learned,
        records=records,
        gone_comments=await gone_comments(parts, keys, _commented(items)),
    )


def _exposed(entries: Iterable[Ledgered]) -> list[int]:
    return _numbers(target for entry in entries for target in entry.retrieval.exposed)


def _named(items: Iterable[session_pb2.FeedbackItem]) -> list[int]:
    """Return the N of records whose text matters: those declared STALE, and their replacements."""
    return _numbers(
        name
        for item in items
        for entry in item.memory_feedback
        if entry.assessment == session_pb2.MEMORY_ASSESSMENT_STALE
        for name in (entry.memory_id, entry.replacement_memory_id)
    )


def _commented(items: Iterable[session_pb2.FeedbackItem]) -> list[int]:
    """Return the N of records on which the call says something in words."""
    memories = (entry.memory_id for item in items for entry in item.memory_feedback if entry.reason)
    procedures = (
        entry.procedure_id for item in items for entry in item.procedure_feedback if entry.contribution or entry.reason
    )
    return _numbers((*memories, *procedures))


def _numbers(names: Iterable[str]) -> list[int]:
    return sorted({parsed[1] for name in names if (parsed := parse_record(name)) is not None})


async def _records(
    parts: Parts, keys: PartitionKeys, exposed: Sequence[int], named: Sequence[int]
) -> tuple[set[int], dict[int, bytes | None], dict[int, bytes | None]]:
    """Return which exposed records are there, what was learned of them, and the records named, at one moment."""
    if not exposed:
        return set(), {}, {}
    there: list[Read] = [("HEXISTS", keys.records, str(n)) for n in exposed]
    snapshot = await parts.store.read(fields_at(keys.learned, exposed), fields_at(keys.records, named), *there)
    known, texts, *found = snapshot.answers
    return (
        {n for n, is_there in zip(exposed, found, strict=True) if is_there},
        dict(zip(exposed, known, strict=True)),
        dict(zip(named, texts, strict=True)),
    )
