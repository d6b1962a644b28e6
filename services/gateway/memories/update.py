"""UpdateMemory and RestoreMemory."""

from __future__ import annotations

from typing import Final

from remembrancer.internal.v1 import encoder_pb2, store_pb2
from remembrancer.model.clock import check_timestamp
from remembrancer.model.errors import Conflict, InvalidField
from remembrancer.model.ids import parse_record
from remembrancer.model.limits import CONTENT_LENGTH
from remembrancer.model.scope import AXIS_LENGTH, parse_scope
from remembrancer.model.text import request_id, require, same_text_key
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys, digest
from remembrancer.store.partition import Applied
from remembrancer.v1 import common_pb2, correction_pb2
from services.gateway.memories.selecting import Stored, check_view, find
from services.gateway.requests import enums
from services.gateway.requests.calls import Call
from services.gateway.search.encoding import EncodedTexts
from services.gateway.shared.equal_texts import delist, enlist
from services.gateway.shared.idempotency import WRITES_MS, FirstAnswer, Idempotency
from services.gateway.shared.parts import Parts
from services.gateway.shared.put_record import put_record
from services.gateway.shared.registering import sets_for
from services.gateway.shared.retries import apply_once, tries

UPDATE: Final = "UpdateMemory"
RESTORE: Final = "RestoreMemory"
ATTEMPTS: Final = 8
ENCODE_SHARE: Final = 0.8


async def update_memory(
    parts: Parts, request: correction_pb2.UpdateMemoryRequest, call: Call
) -> correction_pb2.UpdateMemoryResponse:
    """Change text, type or time of one memory."""
    named = parse_record(require("memory_id", request.memory_id, AXIS_LENGTH))
    if named is not None and named[0] in (store_pb2.RECORD_KIND_EPISODE, store_pb2.RECORD_KIND_PROCEDURE):
        raise InvalidField("memory_id", "names what a commit made: commit its session again to change it")
    if request.HasField("content"):
        require("content", request.content, CONTENT_LENGTH)
    enums.known("type", common_pb2.MemoryType, request.type)
    if request.HasField("occurred_at"):
        check_timestamp("occurred_at", request.occurred_at)
    request_id(request.request_id)
    scope = parse_scope(request.scope)
    view = check_view(request.axes, request.any_axis, scope, parts.operating_context.projects)
    keys = PartitionKeys.of(scope.path)
    idempotency = Idempotency.of(keys, call.caller, UPDATE, request, request.request_id, WRITES_MS)
    encoded: EncodedTexts | None = None
    async for _ in tries(ATTEMPTS):
        first = await idempotency.read_first(parts.store)
        if first is not None:
            return _updated(request.memory_id, store_pb2.UpdatePlan.FromString(first.answer))
        stored = await find(parts, keys, request.memory_id, view)
        if request.type and stored.record.kind != store_pb2.RECORD_KIND_OBSERVATION:
            raise InvalidField("type", "only observations have one")
        record = _changed(stored.record, request)
        new_text = record.content != stored.record.content
        if new_text and encoded is None:
            encoded = await parts.encoder.encode(
                [(record.content, _analysed(record))], encoder_pb2.LANE_WRITE, call.seconds_left * ENCODE_SHARE
            )
        change, plan = Change(keys), store_pb2.UpdatePlan(changed=record != stored.record)
        plan.embedded = not stored.unembedded
        change.require_same("record", keys.records, str(stored.n), stored.raw)
        if new_text and encoded is not None:
            plan.embedded = encoded.complete
            await _relist(parts, change, stored, record)
            sets = await sets_for(parts, keys, encoded.model_id if encoded.complete else "")
            sets.require(change)
            put_record(change, stored.n, record, encoded.texts[0], encoded.model_id, sets)
        elif plan.changed:
            change.write("HSET", keys.records, stored.n, record.SerializeToString())
            change.announce(FeedOp.RECORD, stored.n)
        idempotency.remember(change, plan)
        match await apply_once(parts, change, idempotency):
            case Applied():
                return _updated(request.memory_id, plan)
            case FirstAnswer(answer):
                return _updated(request.memory_id, store_pb2.UpdatePlan.FromString(answer))
    raise Conflict("the memory was changed too often meanwhile; try again")


async def restore_memory(
    parts: Parts, request: correction_pb2.RestoreMemoryRequest, call: Call
) -> correction_pb2.RestoreMemoryResponse:
    """Bring back what was suppressed or declared STALE."""
    require("memory_id", request.memory_id, AXIS_LENGTH)
    request_id(request.request_id)
    scope = parse_scope(request.scope)
    view = check_view(request.axes, request.any_axis, scope, parts.operating_context.projects)
    keys = PartitionKeys.of(scope.path)
    idempotency = Idempotency.of(keys, call.caller, RESTORE, request, request.request_id, WRITES_MS)
    async for _ in tries(ATTEMPTS):
        first = await idempotency.read_first(parts.store)
        if first is not None:
            return _restored(request.memory_id, store_pb2.UpdatePlan.FromString(first.answer))
        stored = await find(parts, keys, request.memory_id, view, hidden=True)
        record = store_pb2.Record()
        record.CopyFrom(stored.record)
        record.status = common_pb2.MEMORY_STATUS_ACTIVE
        for name in ("stale_reason", "stale_text", "replaced_by", "suppressed"):
            record.ClearField(name)
        change, plan = Change(keys), store_pb2.UpdatePlan(changed=record != stored.record)
        change.require_same("record", keys.records, str(stored.n), stored.raw)
        if plan.changed:
            change.write("HSET", keys.records, stored.n, record.SerializeToString())
            change.announce(FeedOp.RECORD, stored.n)
        idempotency.remember(change, plan)
        match await apply_once(parts, change, idempotency):
            case Applied():
                return _restored(request.memory_id, plan)
            case FirstAnswer(answer):
                return _restored(request.memory_id, store_pb2.UpdatePlan.FromString(answer))
    raise Conflict("the memory was changed too often meanwhile; try again")


def _changed(stored: store_pb2.Record, request: correction_pb2.UpdateMemoryRequest) -> store_pb2.Record:
    record = store_pb2.Record()
    record.CopyFrom(stored)
    if request.HasField("content"):
        record.content = request.content
    if request.type:
        record.type = request.type
    if request.HasField("occurred_at"):
        record.occurred_at.CopyFrom(request.occurred_at)
        record.time_uncertain = False
    return record


async def _relist(parts: Parts, change: Change, stored: Stored, record: store_pb2.Record) -> None:
    """Move an observation to the list of its new text. A turn stays where its sender's retry looks for it."""
    if record.kind != store_pb2.RECORD_KIND_OBSERVATION:
        return
    record.duplicate = digest("observation", same_text_key(record.content))
    if record.duplicate == stored.record.duplicate:
        return
    digests = [d for d in (stored.record.duplicate, record.duplicate) if d]
    known = dict(zip(digests, await parts.store.read_one(("HMGET", change.keys.duplicates, *digests)), strict=True))
    new = known.pop(record.duplicate)
    delist(change, known, {stored.n})
    enlist(change, record.duplicate, new, [stored.n])


def _analysed(record: store_pb2.Record) -> str:
    return f"{record.name}: {record.content}" if record.name else record.content


def _updated(memory_id: str, plan: store_pb2.UpdatePlan) -> correction_pb2.UpdateMemoryResponse:
    return correction_pb2.UpdateMemoryResponse(memory_id=memory_id, changed=plan.changed, embedded=plan.embedded)


def _restored(memory_id: str, plan: store_pb2.UpdatePlan) -> correction_pb2.RestoreMemoryResponse:
    return correction_pb2.RestoreMemoryResponse(memory_id=memory_id, restored=plan.changed)
