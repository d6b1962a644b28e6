"""What Remember and RecordTurns share: find equal records, encode the others, write all in one change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from google.protobuf.message import Message

from remembrancer.internal.v1 import encoder_pb2, store_pb2
from remembrancer.model.clock import from_ms
from remembrancer.model.errors import Conflict
from remembrancer.model.ids import SessionRef, record_id
from remembrancer.model.scope import ScopeKey
from remembrancer.store.change import Allocated, Change, Numbers
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from remembrancer.store.registration import require_listed
from remembrancer.store.sessions import require_open, touch
from remembrancer.store.vector_sets import VectorSets
from remembrancer.v1 import common_pb2, memory_pb2
from services.gateway.memories.write_state import (
    Draft,
    WriteState,
    equal_to,
    numbers_in,
    read_write_state,
    refuse_reused,
)
from services.gateway.requests.calls import Call
from services.gateway.search.encoding import UNREADABLE_TEXT, Encoded, EncodedTexts
from services.gateway.shared.fragmentation import fragmentation
from services.gateway.shared.idempotency import WRITES_MS, FirstAnswer, Idempotency
from services.gateway.shared.named_sessions import must_be_open, named, read_owned, refuse_foreign
from services.gateway.shared.parts import Parts
from services.gateway.shared.put_record import put_record
from services.gateway.shared.registering import register, sets_for
from services.gateway.shared.retries import apply_once, tries

ATTEMPTS: Final = 16
"""Tries while others write equal texts; the texts are embedded once."""

ENCODE_SHARE: Final = 0.8
"""Of a write's time, the most that encoding may take."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A checked write call; `drafts` makes its records, given the axes of the session that is credited."""

    rpc: str
    scope: ScopeKey
    session_id: str
    request_id: str
    session_key: str
    request: Message
    drafts: Callable[[common_pb2.Axes], Sequence[Draft]]


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a call's records, one result per record, and what its caller should know.

    `persisted` is false when a pause kept them from being stored.
    """

    results: list[memory_pb2.WriteResult]
    warnings: Sequence[common_pb2.Warning]
    persisted: bool = True


async def write(parts: Parts, batch: Batch, call: Call) -> Written:
    """Write the records of a call, all or none."""
    keys = PartitionKeys.of(batch.scope.path)
    async with parts.write_gate.passed(keys.partition):
        return await _write(parts, batch, call, keys)


async def _write(parts: Parts, batch: Batch, call: Call, keys: PartitionKeys) -> Written:
    ref = named(batch.session_id) if batch.session_id else None
    if ref is not None:
        await refuse_foreign(parts.store, ref, keys.partition, call.caller, parts.retention)
    # In a thread: folding a hundred long texts takes a while.
    drafts = await asyncio.to_thread(batch.drafts, await _session_axes(parts, ref, call))
    idempotency = Idempotency.of(keys, call.caller, batch.rpc, batch.request, batch.request_id, WRITES_MS)
    pause = keys.pause(call.caller, batch.session_key)
    encoded: EncodedTexts | None = None
    async for _ in tries(ATTEMPTS):
        state = await read_write_state(parts, keys, ref, drafts, call, idempotency, pause)
        if state.first is not None:
            return _results(state.first, state.first_base)
        if state.session is not None:
            must_be_open(state.session)
        if state.paused:
            return Written([memory_pb2.WriteResult() for _ in drafts], (), persisted=False)
        refuse_reused(drafts, state)
        change, plan = Change(keys), store_pb2.WritePlan()
        if all(equal_to(draft, state) is not None for draft in drafts):
            _plan_matched(plan, drafts, state)
        else:
            if encoded is None:
                encoded = await _encode(parts, drafts, state, call)
            if not state.ever_written or state.unlisted is not None or not encoded.model_id:
                await register(
                    parts, keys.partition, batch.scope.path, model_id=encoded.model_id, dimension=encoded.dimension
                )
            sets = await sets_for(parts, keys, encoded.model_id)
            _plan_writes(change, plan, drafts, state, encoded, sets)
            if any(not item.embedded and not item.matched for item in plan.items):
                await parts.scopes.note_unembedded(keys.partition)
            plan.warnings.extend(await fragmentation(parts, batch.scope.path, state.ever_written))
        _add_notes(plan, drafts)
        change.require_count("pause", pause, "EXISTS", 0)
        for digest, raw in state.raw.items():
            change.require_same("equal texts", keys.duplicates, digest, raw)
        if state.session is not None:
            require_open(change, state.session.ref, parts.retention)
            touch(change, state.session.ref, state.session.info.caller, parts.retention)
        idempotency.remember(change, plan)
        match await apply_once(parts, change, idempotency):
            case Applied(_, base):
                return _results(plan, base)
            case FirstAnswer(answer, base):
                return _results(store_pb2.WritePlan.FromString(answer), base)
    raise Conflict("equal memories were written too often meanwhile; try again")


async def _session_axes(parts: Parts, ref: SessionRef | None, call: Call) -> common_pb2.Axes:
    """Return the axes of the session to be credited; they never change."""
    if ref is None:
        return common_pb2.Axes()
    return (await read_owned(parts.store, ref, call.caller, parts.retention)).info.axes


async def _encode(parts: Parts, drafts: Sequence[Draft], state: WriteState, call: Call) -> EncodedTexts:
    """Encode all drafts that have no equal; the others keep an empty place, so that places match."""
    wanted = [i for i, draft in enumerate(drafts) if equal_to(draft, state) is None]
    encoded = await parts.encoder.encode(
        [(drafts[i].record.content, drafts[i].analysed) for i in wanted],
        encoder_pb2.LANE_WRITE,
        call.seconds_left * ENCODE_SHARE,
    )
    texts = [Encoded(None, store_pb2.Analysis())] * len(drafts)
    for i, text in zip(wanted, encoded.texts, strict=True):
        texts[i] = text
    return replace(encoded, texts=texts)


def _plan_matched(plan: store_pb2.WritePlan, drafts: Sequence[Draft], state: WriteState) -> None:
    """Plan the answer to a call whose records are all stored already: nothing is encoded, registered or written."""
    plan.items.extend(item for draft in drafts if (item := _match(draft, state)) is not None)


def _match(draft: Draft, state: WriteState) -> store_pb2.PlannedWrite | None:
    """Return what becomes of a draft that equals a stored record; None without one."""
    n = equal_to(draft, state)
    if n is None:
        return None
    return store_pb2.PlannedWrite(
        kind=draft.record.kind,
        n=n,
        embedded=n not in state.unembedded,
        matched=True,
        time_uncertain=state.stored[n].time_uncertain,
    )


def _plan_writes(
    change: Change,
    plan: store_pb2.WritePlan,
    drafts: Sequence[Draft],
    state: WriteState,
    encoded: EncodedTexts,
    sets: VectorSets,
) -> None:
    """Put the records that are not stored yet into the change, and what becomes of every record into the plan."""
    sets.require(change)
    require_listed(change, state.unlisted)
    made: dict[str, list[tuple[Draft, store_pb2.PlannedWrite]]] = {}
    for draft, text in zip(drafts, encoded.texts, strict=True):
        matched = _match(draft, state)
        if matched is not None:
            plan.items.append(matched)
            continue
        twin = next((p for d, p in made.get(draft.duplicate, ()) if draft.equals(_dated(d.record, state))), None)
        if twin is not None:
            plan.items.add().CopyFrom(twin)
            plan.items[-1].matched = True
            continue
        planned = _put(change, draft, text, encoded.model_id, state, sets)
        if text.vectors == b"" and UNREADABLE_TEXT not in plan.warnings:
            plan.warnings.append(UNREADABLE_TEXT)
        plan.items.append(planned)
        if draft.duplicate:
            made.setdefault(draft.duplicate, []).append((draft, planned))
    for digest, twins in made.items():
        known = ",".join(str(n) for n in numbers_in(state.raw.get(digest)))
        numbers = Numbers(known, tuple(Allocated(planned.allocated) for _, planned in twins))
        change.write("HSET", change.keys.duplicates, digest, numbers)


def _add_notes(plan: store_pb2.WritePlan, drafts: Sequence[Draft]) -> None:
    """Add what the drafts have to say: the projects that `@auto` was resolved to, and warnings, each once."""
    for draft, item in zip(drafts, plan.items, strict=True):
        if draft.project is not None:
            item.resolved_project_id = draft.project
        plan.warnings.extend(warning for warning in draft.warnings if warning not in plan.warnings)


def _put(
    change: Change, draft: Draft, text: Encoded, model_id: str, state: WriteState, sets: VectorSets
) -> store_pb2.PlannedWrite:
    keys, n = change.keys, change.allocate()
    record = _dated(draft.record, state)
    record.duplicate = draft.duplicate
    put_record(change, n, record, text, model_id, sets)
    for name in draft.speakers:
        change.write("HINCRBY", keys.speakers, name, 1)
    if state.session is not None:
        change.write("RPUSH", keys.written(state.session.ref.ledger), n)
    return store_pb2.PlannedWrite(
        kind=draft.record.kind,
        allocated=n.index,
        embedded=text.vectors is not None,
        time_uncertain=record.time_uncertain,
    )


def _dated(draft: store_pb2.Record, state: WriteState) -> store_pb2.Record:
    """Return the record as it is stored: with its arrival, and credited to the session."""
    record = store_pb2.Record()
    record.CopyFrom(draft)
    now = from_ms(state.now_ms)
    record.recorded_at.CopyFrom(now)
    if not record.HasField("occurred_at"):
        record.occurred_at.CopyFrom(now)
    record.status = common_pb2.MEMORY_STATUS_ACTIVE
    record.session_id = state.session.id if state.session is not None else ""
    return record


def _results(plan: store_pb2.WritePlan, base: int) -> Written:
    results = [
        memory_pb2.WriteResult(
            memory_id=record_id(item.kind, item.n or base + item.allocated),
            disposition=(
                memory_pb2.WRITE_DISPOSITION_MATCHED if item.matched else memory_pb2.WRITE_DISPOSITION_CREATED
            ),
            embedded=item.embedded,
            time_uncertain=item.time_uncertain,
            resolved_project_id=item.resolved_project_id if item.HasField("resolved_project_id") else None,
        )
        for item in plan.items
    ]
    return Written(results, plan.warnings)
