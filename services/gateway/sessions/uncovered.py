"""What is still outstanding in a session's ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import FeedbackMissing
from remembrancer.model.ids import RetrievalRef, SessionRef, parse_retrieval
from remembrancer.model.ledger import outstanding
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.sessions import Session
from remembrancer.v1 import errors_pb2, session_pb2
from services.gateway.shared.parts import Parts

RETRIEVALS_LISTED: Final = 20
TARGETS_LISTED: Final = 5


async def refuse_uncovered(parts: Parts, keys: PartitionKeys, session: Session) -> None:
    """Raise FeedbackMissing with the oldest uncovered retrievals; return when all got covered meanwhile."""
    ledger = session.ref.ledger
    snapshot = await parts.store.read(
        ("ZRANGE", keys.uncovered(ledger), "0", str(RETRIEVALS_LISTED - 1)), ("ZCARD", keys.uncovered(ledger))
    )
    names, total = snapshot.answers
    states = await retrieval_states(parts, retrieval_refs(session.ref, names))
    missing = [state.uncovered for state in states if not state.covered]
    covered = len(states) - len(missing)
    # An entry that names no retrieval cannot be listed, and is not covered either.
    if covered == len(names):
        return
    total -= covered
    detail = errors_pb2.FeedbackIncomplete(retrievals=missing, total=total, truncated=total > len(missing))
    for listed in detail.retrievals:
        del listed.outstanding[TARGETS_LISTED:]
    raise FeedbackMissing(session.id, detail)


def retrieval_refs(session: SessionRef, names: Sequence[bytes]) -> list[RetrievalRef]:
    """Return the retrievals of a session's ledger that have these keys there, in order; what names none is left out."""
    refs = (RetrievalRef(session.partition, session.ledger, decode.name(name)) for name in names)
    return [ref for ref in refs if parse_retrieval(str(ref)) is not None]


async def retrieval_states(parts: Parts, refs: Sequence[RetrievalRef]) -> list[session_pb2.RetrievalState]:
    """Return how far retrievals of one ledger are covered, in order; every outstanding target is listed."""
    if not refs:
        return []
    key = PartitionKeys(refs[0].partition).ledger(refs[0].ledger)
    fields = [field for ref in refs for field in (f"r:{ref.key}", f"f:{ref.key}")]
    raw = await parts.store.read_one(("HMGET", key, *fields))
    return [_state(ref, raw[2 * i], raw[2 * i + 1]) for i, ref in enumerate(refs)]


def _state(ref: RetrievalRef, raw: bytes | None, raw_log: bytes | None) -> session_pb2.RetrievalState:
    # What was exposed by a damaged or lost one can be neither told nor assessed; it stays uncovered.
    retrieval, log = decode.message(store_pb2.Retrieval, raw) or store_pb2.Retrieval(), decode.log(raw_log)
    state = session_pb2.RetrievalState(
        retrieval_id=str(ref),
        origin=retrieval.origin,
        retrieved_at=retrieval.at,
        exposed=retrieval.exposed,
        covered=log.complete,
    )
    if not log.complete:
        missing = outstanding(retrieval, log)
        state.uncovered.retrieval_id = str(ref)
        state.uncovered.outstanding.extend(missing)
        state.uncovered.outstanding_count = len(missing)
    return state
