"""Sessions and ledgers in the store: what is read of them, and the writes that open, extend and close them.

The rules are in `remembrancer.model`; here stand only the fields and keys.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from google.protobuf.message import DecodeError

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import LATEST
from remembrancer.model.ids import N_DIGITS, RetrievalRef, SessionRef, new_token
from remembrancer.model.task_context import to_json
from remembrancer.store.change import Change, StoreTime
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Read
from remembrancer.store.traces import drop_old_sessions, trace_session, trace_stateless
from remembrancer.v1 import session_pb2

CONTINUITY_MS: Final = 90 * 86_400_000
"""How long a continuity id is good for after its last use."""

MOST_RETRIEVALS: Final = 2**31 - 1
"""What answers can tell; no session comes near it."""

_LISTING: Final = re.compile(r"([0-9]{15})-([a-z2-7]{16})")
_FIELDS: Final = ("info", "state", "active", "ctx", "count", "outcome", "episode", "procedure")


class StoredState(StrEnum):
    """The state as it is stored; an OPEN session that was idle for too long has expired without anybody's doing."""

    OPEN = "open"
    COMMITTED = "committed"
    ABANDONED = "abandoned"
    EXPIRED = "expired"


PUBLIC_STATE: Final = {
    StoredState.OPEN: session_pb2.SESSION_STATE_OPEN,
    StoredState.COMMITTED: session_pb2.SESSION_STATE_COMMITTED,
    StoredState.ABANDONED: session_pb2.SESSION_STATE_ABANDONED,
    StoredState.EXPIRED: session_pb2.SESSION_STATE_EXPIRED,
}


@dataclass(frozen=True, slots=True)
class Retention:
    """How long things live, in milliseconds: an idle session, an ended one, a stateless retrieval."""

    idle_ms: int
    kept_ms: int
    stateless_ms: int


@dataclass(frozen=True, slots=True)
class Session:
    """A session as it was read; `state` has idleness worked in, `episode` and `procedure` are N (0 = none)."""

    ref: SessionRef
    info: store_pb2.SessionInfo
    state: StoredState
    active_ms: int
    context: dict[str, Any]
    count: int
    outcome: store_pb2.SessionOutcome | None
    episode: int
    procedure: int
    raw: dict[str, bytes | None]

    @property
    def id(self) -> str:
        """The public id."""
        return str(self.ref)


def session_reads(ref: SessionRef) -> Read:
    """Return the command that reads a session."""
    return ("HMGET", PartitionKeys(ref.partition).session(ref.ledger), *_FIELDS)


def session_from(ref: SessionRef, answer: list[bytes | None], now_ms: int, retention: Retention) -> Session | None:
    """Return the session from what `session_reads` brought; None when there is none, or when it is not understood."""
    try:
        return _session(ref, dict(zip(_FIELDS, answer, strict=True)), now_ms, retention)
    except (DecodeError, ValueError):
        return None


def open_session(
    change: Change, ref: SessionRef, info: store_pb2.SessionInfo, context: dict[str, Any], retention: Retention
) -> None:
    """Add the writes that open a session; `touch` must follow, at the end of the change."""
    key = change.keys.session(ref.ledger)
    change.write(
        "HSET", key, "info", info.SerializeToString(), "state", StoredState.OPEN.value, "active", StoreTime(), "ctx",
        to_json(context),
    )  # fmt: skip
    change.write("SET", change.keys.continuity(info.continuity_id), info.caller, "PX", CONTINUITY_MS)
    opened_ms = info.opened_at.ToMilliseconds()
    change.write("ZADD", change.keys.sessions_of(info.caller), 0, listing(ref, opened_ms))
    drop_old_sessions(change, opened_ms, retention.idle_ms + retention.kept_ms)


def require_open(change: Change, ref: SessionRef, retention: Retention) -> None:
    """Have the change fail unless the session still is open and not idle for too long."""
    key = change.keys.session(ref.ledger)
    change.require_same("session state", key, "state", StoredState.OPEN.value.encode())
    change.require_recent("session age", key, "active", retention.idle_ms)


def touch(change: Change, ref: SessionRef, caller: str, retention: Retention) -> None:
    """Count the change as activity of the caller's session; must follow the writes that make its keys."""
    change.write("HSET", change.keys.session(ref.ledger), "active", StoreTime())
    _keep(change, ref, caller, retention.idle_ms + retention.kept_ms, retention)


def end_session(change: Change, session: Session, state: StoredState, retention: Retention) -> None:
    """Add the writes that end a session; it and its ledger are kept for a while."""
    change.write("HSET", change.keys.session(session.ref.ledger), "state", state.value)
    _keep(change, session.ref, session.info.caller, retention.kept_ms, retention)


def new_retrieval(partition: str, session: SessionRef | None) -> RetrievalRef:
    """Return the id of a new retrieval in a session's ledger, or in one of its own."""
    key = new_token()
    return RetrievalRef(partition, session.ledger if session else key, key)


def enter_retrieval(change: Change, ref: RetrievalRef, retrieval: store_pb2.Retrieval, retention: Retention) -> None:
    """Add the writes that put a retrieval into its ledger; in a session's ledger it starts out uncovered."""
    keys = change.keys
    change.write("HSET", keys.ledger(ref.ledger), f"r:{ref.key}", retrieval.SerializeToString())
    if ref.stateless:
        change.write("PEXPIRE", keys.ledger(ref.ledger), retention.stateless_ms)
        trace_stateless(change, ref.ledger, retrieval.at.ToMilliseconds(), retention.stateless_ms)
        return
    change.write("ZADD", keys.uncovered(ref.ledger), StoreTime(), ref.key)
    change.write("RPUSH", keys.retrievals(ref.ledger), ref.key)
    change.write("HINCRBY", keys.session(ref.ledger), "count", 1)


def listing(ref: SessionRef, opened_ms: int) -> str:
    """Return how a session stands in its caller's list: the name order is the order of opening."""
    return f"{opened_ms:015d}-{ref.ledger}"


def listed(partition: str, entry: str) -> tuple[SessionRef, int] | None:
    """Return a session and when it was opened, in ms, from its entry in a list; None when it is none."""
    match = _LISTING.fullmatch(entry)
    return (SessionRef(partition, match[2]), int(match[1])) if match else None


def _session(ref: SessionRef, raw: dict[str, bytes | None], now_ms: int, retention: Retention) -> Session | None:
    """Return the session; None when there is none. Errors: DecodeError and ValueError when it is damaged."""
    info, state = raw["info"], raw["state"]
    if info is None or state is None or raw["active"] is None:
        return None
    stored, active_ms = StoredState(state.decode()), _number(raw["active"], LATEST * 1000)
    if stored is StoredState.OPEN and now_ms - active_ms > retention.idle_ms:
        stored = StoredState.EXPIRED
    context = json.loads(raw["ctx"] or b"{}")
    if not isinstance(context, dict):
        raise ValueError("the task context is no object")
    outcome = raw["outcome"]
    return Session(
        ref=ref,
        info=store_pb2.SessionInfo.FromString(info),
        state=stored,
        active_ms=active_ms,
        context=context,
        count=_number(raw["count"], MOST_RETRIEVALS),
        outcome=store_pb2.SessionOutcome.FromString(outcome) if outcome is not None else None,
        episode=_number(raw["episode"]),
        procedure=_number(raw["procedure"]),
        raw=raw,
    )


def _number(raw: bytes | None, most: int = 10**N_DIGITS) -> int:
    number = int(raw or b"0")
    if not 0 <= number <= most:
        raise ValueError("the number is out of its range")
    return number


def _keep(change: Change, ref: SessionRef, caller: str, ms: int, retention: Retention) -> None:
    keys, ledger = change.keys, ref.ledger
    for key in (
        keys.session(ledger),
        keys.ledger(ledger),
        keys.uncovered(ledger),
        keys.retrievals(ledger),
        keys.written(ledger),
        keys.used_procedures(ledger),
    ):
        change.write("PEXPIRE", key, ms)
    # The lists must not go before any of their sessions, the other ones included.
    change.write("PEXPIRE", keys.sessions_of(caller), retention.idle_ms + retention.kept_ms)
    trace_session(change, ledger, retention.idle_ms + retention.kept_ms)
