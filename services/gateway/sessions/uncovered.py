"""What is still outstanding in a session's ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import FeedbackMissing
from remembrancer.model.ids import RetrievalRef, SessionRef
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
    states = await retrieval_states(parts, session.ref, [name.decode() for name in names])
    missing = [state.uncovered for state in states if not state.covered]
    if not missing:
        return
    total -= len(states) - len(missing)
    detail = errors_pb2.FeedbackIncomplete(retrievals=missing, total=total, truncated=total > len(missing))
    for listed in detail.retrievals:
        del listed.outstanding[TARGETS_LISTED:]
    raise FeedbackMissing(session.id, detail)


async def retrieval_states(parts: Parts, session: SessionRef, names: Sequence[str]) -> list[session_pb2.RetrievalState]:
    """Return how far the retrievals with these keys are covered, in order; every outstanding target is listed."""
    if not names:
        return []
    key = PartitionKeys(session.partition).ledger(session.ledger)
    fields = [field for name in names for field in (f"r:{name}", f"f:{name}")]
    raw = await parts.store.read_one(("HMGET", key, *fields))
    return [
        _state(RetrievalRef(session.partition, session.ledger, name), raw[2 * i], raw[2 * i + 1])
        for i, name in enumerate(names)
        if raw[2 * i] is not None
    ]


def _state(ref: RetrievalRef, raw: bytes, raw_log: bytes | None) -> session_pb2.RetrievalState:
    # What was exposed by a damaged one can be neither told nor assessed; it stays uncovered.
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
