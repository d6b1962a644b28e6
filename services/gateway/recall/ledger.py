"""What Recall and RecallWithContext write: the ledger's entry, and how often records were returned."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import Conflict
from remembrancer.model.task_context import merge, to_json
from remembrancer.store.change import Change
from remembrancer.store.partition import Applied
from remembrancer.store.sessions import Session, enter_retrieval, require_open, touch
from remembrancer.store.traces import trace_answer
from services.gateway.recall.recall_state import RecallState
from services.gateway.search.searcher import Found
from services.gateway.shared.idempotency import FirstAnswer
from services.gateway.shared.named_sessions import must_take_retrieval, read_owned
from services.gateway.shared.parts import Parts
from services.gateway.shared.retries import apply_once, tries

ATTEMPTS: Final = 64
"""Tries to write the ledger while other calls change the same session's context."""


async def enter(parts: Parts, state: RecallState, entry: store_pb2.Retrieval, answer: Message) -> bytes | None:
    """Write a retrieval into the ledger, and have `answer` remembered.

    Returns the first answer when the same request came in meanwhile. Errors: what is wrong with the session by now;
    Conflict, StoreUnavailable, WriteNotDurable.
    """
    session = state.session
    async for attempt in tries(ATTEMPTS):
        if attempt and session is not None:
            session = await _reread(parts, session)
        change = Change(state.checked.keys)
        if session is not None:
            require_open(change, session.ref, parts.retention)
            _extend(change, session, state.checked.context, parts.session_retrievals)
        enter_retrieval(change, state.retrieval.ref, entry, parts.retention)
        if session is not None:
            touch(change, session.ref, entry.caller, parts.retention)
        state.idempotency.remember(change, answer)
        trace_answer(change, state.retrieval.partition.now_ms)
        match await apply_once(parts, change, state.idempotency):
            case Applied():
                return None
            case FirstAnswer(first):
                return first
    raise Conflict("the session changed too often meanwhile; try again")


def count_recall(parts: Parts, state: RecallState, found: Found) -> None:
    """Count the direct observations and turns of an answer; episodes are not counted."""
    counted = (store_pb2.RECORD_KIND_OBSERVATION, store_pb2.RECORD_KIND_TURN)
    ns = [c.n for c in found.direct if found.records[c.n].kind in counted]
    keys = state.checked.keys
    parts.counters.bump(keys, ns, keys.pause(state.retrieval.caller, state.checked.request.session_key))


def _extend(change: Change, session: Session, update: dict[str, Any] | None, limit: int) -> None:
    """Save the merged context and keep the session below its limit."""
    key = change.keys.session(session.ref.ledger)
    change.require_below("session size", key, "count", limit)
    if update:
        change.require_same("session context", key, "ctx", session.raw["ctx"])
        change.write("HSET", key, "ctx", to_json(merge(session.context, update)))


async def _reread(parts: Parts, session: Session) -> Session:
    """Return the caller's session as it is now. Errors: what is wrong with it by now."""
    again = await read_owned(parts.store, session.ref, session.info.caller, parts.retention)
    must_take_retrieval(again, parts.session_retrievals)
    return again
