"""Finds the session that a call names, and says what is wrong with it in the contract's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from remembrancer.model.errors import (
    InvalidField,
    SessionEnded,
    SessionExpired,
    SessionFull,
    SessionNotFound,
    SessionScopeMismatch,
)
from remembrancer.model.ids import SessionRef, parse_session
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import PartitionStore, Read
from remembrancer.store.sessions import Retention, Session, StoredState, listed, session_from, session_reads

SAMPLE: Final = 8
"""Entries of a caller's list of sessions that each Activate looks at."""


def named(session_id: str, *, required: bool = False) -> SessionRef:
    """Return what a session id carries. Errors: InvalidField when it is required and missing, SessionNotFound."""
    if required and not session_id:
        hint = "open a session with Activate, or recall with the tenant form"
        raise InvalidField("session_id", f"is required with a path scope: {hint}")
    ref = parse_session(session_id)
    if ref is None:
        raise SessionNotFound(session_id[:256])
    return ref


async def refuse_foreign(
    store: PartitionStore, ref: SessionRef, partition: str, caller: str, retention: Retention
) -> None:
    """Raise SessionNotFound or SessionScopeMismatch when the session is not of this partition."""
    if ref.partition == partition:
        return
    await read_owned(store, ref, caller, retention)
    raise SessionScopeMismatch(str(ref))


async def read_owned(store: PartitionStore, ref: SessionRef, caller: str, retention: Retention) -> Session:
    """Return the caller's session. Errors: SessionNotFound, for foreign ones too; StoreUnavailable."""
    snapshot = await store.read(session_reads(ref))
    return owned(ref, snapshot.answers[0], snapshot.now_ms, caller, retention)


def owned(ref: SessionRef, answer: list[Any], now_ms: int, caller: str, retention: Retention) -> Session:
    """Return the caller's session from what was read. Errors: SessionNotFound, for foreign ones too."""
    session = session_from(ref, answer, now_ms, retention)
    if session is None or session.info.caller != caller:
        raise SessionNotFound(str(ref))
    return session


def must_be_open(session: Session) -> None:
    """Check the state. Errors: SessionExpired, SessionEnded."""
    if session.state is StoredState.EXPIRED:
        raise SessionExpired(session.id)
    if session.state is not StoredState.OPEN:
        raise SessionEnded(session.id, session.state.name.lower())


def must_take_retrieval(session: Session, limit: int) -> None:
    """Check that one more retrieval may enter. Errors: SessionExpired, SessionEnded, SessionFull."""
    must_be_open(session)
    if session.count >= limit:
        raise SessionFull(session.id, limit)


def sample_of_sessions(keys: PartitionKeys, caller: str) -> Read:
    """Return the command that draws a few entries of a caller's list of sessions, for `gone_sessions`."""
    return ("ZRANDMEMBER", keys.sessions_of(caller), str(SAMPLE))


async def gone_sessions(
    store: PartitionStore, keys: PartitionKeys, entries: Sequence[bytes], now_ms: int, retention: Retention
) -> list[str]:
    """Return those entries of a sample whose sessions are past their retention.

    Each Activate adds one entry and takes out those of its sample that are gone, so that in a list that grows only a
    small share of entries is without a session. Young entries need no look.
    """
    oldest = now_ms - retention.idle_ms - retention.kept_ms
    names = sorted({decode.name(raw) for raw in entries})
    old = [(name, found[0]) for name in names if (found := listed(keys.partition, name)) and found[1] < oldest]
    if not old:
        return []
    there = await store.read(*(("EXISTS", keys.session(ref.ledger)) for _, ref in old))
    return [name for (name, _), exists in zip(old, there.answers, strict=True) if not exists]
