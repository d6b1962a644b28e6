"""AbandonSession."""

from __future__ import annotations

from typing import Final

from remembrancer.model.errors import Conflict
from remembrancer.model.scope import require_path
from remembrancer.model.text import request_id
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from remembrancer.store.sessions import StoredState, end_session, require_open, session_reads
from remembrancer.v1 import session_pb2
from services.gateway.requests.calls import Call
from services.gateway.shared.idempotency import WRITES_MS, FirstAnswer, Idempotency
from services.gateway.shared.named_sessions import must_be_open, named, owned, refuse_foreign
from services.gateway.shared.parts import Parts
from services.gateway.shared.retries import apply_once, tries

RPC: Final = "AbandonSession"
ATTEMPTS: Final = 8


async def abandon_session(
    parts: Parts, request: session_pb2.AbandonSessionRequest, call: Call
) -> session_pb2.AbandonSessionResponse:
    """Close an open session without an outcome."""
    request_id(request.request_id)
    scope = require_path(request.scope)
    keys = PartitionKeys.of(scope.path)
    ref = named(request.session_id, required=True)
    await refuse_foreign(parts.store, ref, keys.partition, call.caller, parts.retention)
    idempotency = Idempotency.of(keys, call.caller, RPC, request, request.request_id, WRITES_MS)
    async for _ in tries(ATTEMPTS):
        snapshot = await parts.store.read(session_reads(ref), *idempotency.reads())
        raw, *rest = snapshot.answers
        session = owned(ref, raw, snapshot.now_ms, call.caller, parts.retention)
        first = idempotency.first(rest)
        if first is not None:
            return session_pb2.AbandonSessionResponse.FromString(first.answer)
        must_be_open(session)
        change = Change(keys)
        require_open(change, ref, parts.retention)
        end_session(change, session, StoredState.ABANDONED, parts.retention)
        response = session_pb2.AbandonSessionResponse(session_id=session.id, state=session_pb2.SESSION_STATE_ABANDONED)
        idempotency.remember(change, response)
        match await apply_once(parts, change, idempotency):
            case Applied():
                return response
            case FirstAnswer(answer):
                return session_pb2.AbandonSessionResponse.FromString(answer)
    raise Conflict("the session changed too often meanwhile; try again")
