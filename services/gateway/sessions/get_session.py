"""GetSession."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import from_ms
from remembrancer.model.errors import InvalidField
from remembrancer.model.ids import SessionRef, record_id
from remembrancer.model.scope import require_path
from remembrancer.model.task_context import to_struct
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.sessions import PUBLIC_STATE, StoredState, session_reads
from remembrancer.v1 import session_pb2
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import whole_number
from services.gateway.requests.paging import fitting, page_token, position_of
from services.gateway.sessions.uncovered import retrieval_refs, retrieval_states
from services.gateway.shared.named_sessions import named, owned, refuse_foreign
from services.gateway.shared.parts import Parts

PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 500


async def get_session(
    parts: Parts, request: session_pb2.GetSessionRequest, call: Call
) -> session_pb2.GetSessionResponse:
    """Return a session with one page of its retrievals."""
    scope = require_path(request.scope)
    size = whole_number("page_size", request.page_size or None, PAGE_DEFAULT, 1, PAGE_MAX)
    keys = PartitionKeys.of(scope.path)
    ref = named(request.session_id, required=True)
    start = _start(request.page_token, ref.ledger)
    await refuse_foreign(parts.store, ref, keys.partition, call.caller, parts.retention)
    snapshot = await parts.store.read(
        session_reads(ref),
        ("LRANGE", keys.retrievals(ref.ledger), str(start), str(start + size - 1)),
        ("LLEN", keys.retrievals(ref.ledger)),
        ("ZCARD", keys.uncovered(ref.ledger)),
    )
    raw, names, listed, uncovered = snapshot.answers
    session = owned(ref, raw, snapshot.now_ms, call.caller, parts.retention)
    response = session_pb2.GetSessionResponse(
        session_id=session.id,
        state=PUBLIC_STATE[session.state],
        continuity_id=session.info.continuity_id,
        task=session.info.task,
        initial_goal=session.info.initial_goal,
        task_context=to_struct(session.context),
        opened_at=session.info.opened_at,
        active_at=from_ms(session.active_ms),
        retrievals=fitting(await retrieval_states(parts, retrieval_refs(ref, names))),
        retrieval_count=session.count,
        uncovered_count=uncovered,
        episode_id=record_id(store_pb2.RECORD_KIND_EPISODE, session.episode) if session.episode else "",
        procedure_id=record_id(store_pb2.RECORD_KIND_PROCEDURE, session.procedure) if session.procedure else "",
    )
    if session.state is StoredState.OPEN:
        response.expires_at.CopyFrom(from_ms(session.active_ms + parts.retention.idle_ms))
    if session.outcome is not None:
        response.outcome = session.outcome.outcome
        response.outcome_summary = session.outcome.outcome_summary
    end = start + _passed(ref, names, len(response.retrievals))
    if end < listed:
        response.next_page_token = page_token(ref.ledger, str(end))
    return response


def _passed(ref: SessionRef, names: Sequence[bytes], shown: int) -> int:
    """Return how many of these entries a page passes that shows the first `shown` of the retrievals among them."""
    places = [i for i, name in enumerate(names) if retrieval_refs(ref, [name])]
    return places[shown] if shown < len(places) else len(names)


def _start(token: str, ledger: str) -> int:
    position = position_of(token, ledger)
    if position and not (position.isascii() and position.isdigit()):
        raise InvalidField("page_token", "is not one that this list gave you")
    return int(position or 0)
