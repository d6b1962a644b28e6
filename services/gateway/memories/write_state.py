"""What one write has to know before it decides: what equals its drafts, and the session that is credited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.axes import visible
from remembrancer.model.errors import MsgIdReused
from remembrancer.model.ids import SessionRef, record_id
from remembrancer.model.text import same_text_key
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Read, fields_at, members_at
from remembrancer.store.registration import UNLISTED
from remembrancer.store.sessions import Session, session_reads
from remembrancer.v1 import common_pb2
from services.gateway.requests.calls import Call
from services.gateway.shared.idempotency import Idempotency
from services.gateway.shared.named_sessions import owned
from services.gateway.shared.parts import Parts

EQUALS_COMPARED: Final = 512
"""Of the records of one text the newest so many, which a new one is compared with, oldest first, and listed after."""


@dataclass(slots=True)
class Draft:
    """One record to be written.

    `duplicate` is the digest under which equal ones are found, "" when none can be told. `project` is what `@auto` was
    resolved to.
    """

    record: store_pb2.Record
    duplicate: str
    analysed: str
    speakers: Sequence[str] = ()
    project: str | None = None
    warnings: Sequence[common_pb2.Warning] = ()

    def equals(self, stored: store_pb2.Record) -> bool:
        """Return whether a record found under the same digest makes this one superfluous."""
        if self.record.kind == store_pb2.RECORD_KIND_TURN:
            # The digest has the axes. Without a message id it has the text, which may have been updated since.
            return not self.record.msg_id or same_text_key(stored.content) == same_text_key(self.record.content)
        return stored.status == common_pb2.MEMORY_STATUS_ACTIVE and visible(stored.axes, self.record.axes)


@dataclass(slots=True)
class WriteState:
    """The state that a write starts from.

    `raw` are the lists of equal texts as stored, by digest, `stored` the records in them; `first` is the plan of the
    first answer when the same request came in earlier, and then nothing else counts. `unlisted` is a note of
    `registration`.
    """

    now_ms: int
    ever_written: bool
    unlisted: bytes | None
    session: Session | None
    paused: bool = False
    raw: dict[str, bytes | None] = field(default_factory=dict)
    stored: dict[int, store_pb2.Record] = field(default_factory=dict)
    unembedded: set[int] = field(default_factory=set)
    first: store_pb2.WritePlan | None = None
    first_base: int = 0


async def read_write_state(
    parts: Parts,
    keys: PartitionKeys,
    ref: SessionRef | None,
    drafts: Sequence[Draft],
    call: Call,
    idempotency: Idempotency,
    pause: str,
) -> WriteState:
    """Return what the drafts meet. Errors: SessionNotFound, RequestIdReused, StoreUnavailable."""
    digests = sorted({draft.duplicate for draft in drafts if draft.duplicate})
    reads: list[Read] = [("HMGET", keys.meta, "n", UNLISTED), ("EXISTS", pause), ("HMGET", keys.duplicates, *digests)]
    reads += [session_reads(ref)] if ref is not None else []
    snapshot = await parts.store.read(*reads, *idempotency.reads())
    (n, unlisted), paused, lists, *rest = snapshot.answers
    session = owned(ref, rest.pop(0), snapshot.now_ms, call.caller, parts.retention) if ref is not None else None
    raw = dict(zip(digests, lists, strict=True))
    state = WriteState(snapshot.now_ms, decode.last_number(n) > 0, unlisted, session, bool(paused), raw)
    first = idempotency.first(rest)
    if first is not None:
        state.first, state.first_base = store_pb2.WritePlan.FromString(first.answer), first.base
        return state
    ns = sorted({number for value in raw.values() for number in numbers_in(value)})
    if not ns:
        return state
    records, waiting = (await parts.store.read(fields_at(keys.records, ns), members_at(keys.unembedded, ns))).answers
    state.stored = decode.records(ns, records)
    state.unembedded = {number for number, waits in zip(ns, waiting, strict=True) if waits}
    return state


def equal_to(draft: Draft, state: WriteState) -> int | None:
    """Return N of the stored record that makes a draft superfluous, None without one."""
    for n in numbers_in(state.raw.get(draft.duplicate)):
        stored = state.stored.get(n)
        if stored is not None and draft.equals(stored):
            return n
    return None


def refuse_reused(drafts: Sequence[Draft], state: WriteState) -> None:
    """Check that each message id stands for one text, in the store and in the call. Errors: MsgIdReused."""
    reused: dict[int, str] = {}
    first: dict[str, tuple[int, Draft]] = {}
    for i, draft in enumerate(drafts):
        if not draft.record.msg_id:
            continue
        stored = [n for n in numbers_in(state.raw.get(draft.duplicate)) if n in state.stored]
        if stored and equal_to(draft, state) is None:
            reused[i] = record_id(store_pb2.RECORD_KIND_TURN, stored[-1])
        place, other = first.setdefault(draft.duplicate, (i, draft))
        if not draft.equals(other.record):
            reused.setdefault(place, f"turns[{i}]")
            reused.setdefault(i, f"turns[{place}]")
    if reused:
        raise MsgIdReused(reused)


def numbers_in(value: bytes | None) -> list[int]:
    """Return the newest numbers of a list of equal texts."""
    return decode.numbers(value)[-EQUALS_COMPARED:]
