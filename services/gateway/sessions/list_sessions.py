"""ListSessions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from remembrancer.model.clock import from_ms
from remembrancer.model.errors import InvalidField
from remembrancer.model.scope import require_path
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Read
from remembrancer.store.sessions import PUBLIC_STATE, Session, StoredState, listed, session_from, session_reads
from remembrancer.v1 import session_pb2
from services.gateway.requests import enums
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import whole_number
from services.gateway.requests.paging import fitting, page_token, position_of
from services.gateway.shared.parts import Parts

PAGE_DEFAULT: Final = 50
PAGE_MAX: Final = 500
CHUNK: Final = 100
"""Sessions read at a time."""

LOOKED_AT: Final = 1000
"""Sessions that one call looks at, whether or not they are listed."""


async def list_sessions(
    parts: Parts, request: session_pb2.ListSessionsRequest, call: Call
) -> session_pb2.ListSessionsResponse:
    """Return one page of the caller's sessions of a scope."""
    scope = require_path(request.scope)
    enums.all_known("states", session_pb2.SessionState, request.states)
    size = whole_number("page_size", request.page_size or None, PAGE_DEFAULT, 1, PAGE_MAX)
    keys = PartitionKeys.of(scope.path)
    last = position_of(request.page_token, keys.partition)
    if last and listed(keys.partition, last) is None:
        raise InvalidField("page_token", "is not one that this list gave you")
    found: list[tuple[str, session_pb2.SessionSummary]] = []
    looked_at, position, more = 0, last.encode(), True
    while more and len(found) < size and looked_at < LOOKED_AT:
        raws = await _entries(parts, keys, call.caller, position)
        # Of what is no entry, none can stand in a token.
        entries = [entry for raw in raws if listed(keys.partition, entry := decode.name(raw)) is not None]
        found += await _summaries(parts, keys, call.caller, entries, request.states)
        looked_at += len(entries)
        position, more = raws[-1] if raws else position, len(raws) == CHUNK
        last = entries[-1] if entries else last
    page = fitting(summary for _, summary in found[:size])
    if len(page) < len(found):
        last, more = found[len(page) - 1][0], True
    return session_pb2.ListSessionsResponse(
        sessions=page, next_page_token=page_token(keys.partition, last) if more else ""
    )


async def _entries(parts: Parts, keys: PartitionKeys, caller: str, last: bytes) -> list[bytes]:
    """Return the next entries of the caller's list, newest first, after the entry `last` (b"" = from the start)."""
    start = b"(" + last if last else b"+"
    entries: list[bytes] = await parts.store.read_one(
        ("ZRANGE", keys.sessions_of(caller), start, "-", "BYLEX", "REV", "LIMIT", "0", str(CHUNK))
    )
    return entries


async def _summaries(
    parts: Parts,
    keys: PartitionKeys,
    caller: str,
    entries: list[str],
    states: Collection[session_pb2.SessionState.ValueType],
) -> list[tuple[str, session_pb2.SessionSummary]]:
    """Return the sessions of the entries that still are there and in one of `states`, each with its entry."""
    known = [(entry, parsed[0]) for entry in entries if (parsed := listed(keys.partition, entry)) is not None]
    if not known:
        return []
    reads: list[Read] = []
    for _, ref in known:
        reads += [session_reads(ref), ("ZCARD", keys.uncovered(ref.ledger))]
    snapshot = await parts.store.read(*reads)
    found: list[tuple[str, session_pb2.SessionSummary]] = []
    for i, (entry, ref) in enumerate(known):
        session = session_from(ref, snapshot.answers[2 * i], snapshot.now_ms, parts.retention)
        if session is None or session.info.caller != caller:
            continue
        if not states or PUBLIC_STATE[session.state] in states:
            found.append((entry, _summary(parts, session, snapshot.answers[2 * i + 1])))
    return found


def _summary(parts: Parts, session: Session, uncovered: int) -> session_pb2.SessionSummary:
    summary = session_pb2.SessionSummary(
        session_id=session.id,
        state=PUBLIC_STATE[session.state],
        continuity_id=session.info.continuity_id,
        task=session.info.task,
        opened_at=session.info.opened_at,
        active_at=from_ms(session.active_ms),
        retrieval_count=session.count,
        uncovered_count=uncovered,
    )
    if session.state is StoredState.OPEN:
        summary.expires_at.CopyFrom(from_ms(session.active_ms + parts.retention.idle_ms))
    if session.outcome is not None:
        summary.outcome = session.outcome.outcome
    return summary
