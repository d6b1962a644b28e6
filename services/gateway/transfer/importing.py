"""Import."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import Conflict, InvalidField, ScopeNotEmpty
from remembrancer.model.ids import parse_session
from remembrancer.model.speakers import names_of
from remembrancer.model.text import request_id
from remembrancer.model.transfer import check_batch, check_header
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from remembrancer.store.reader import decode_vectors
from remembrancer.v1 import transfer_pb2
from services.gateway.requests.calls import Call
from services.gateway.shared.equal_texts import enlist
from services.gateway.shared.parts import Parts
from services.gateway.shared.registering import register, sets_for
from services.gateway.shared.retries import tries
from services.gateway.transfer.claims import Claim, move_on, read_claim
from services.gateway.transfer.export import whole_scope
from services.gateway.transfer.records import incoming

ATTEMPTS: Final = 8
WINDOWS_MAX: Final = 32
"""Windows of one text that an encoder makes."""


@dataclass(frozen=True, slots=True)
class _Import:
    """Where an import is.

    `sent` is the `upto` of the last batch of this stream. `dimension` is 0 when the export's vectors cannot be taken
    over.
    """

    scope: str
    import_id: str
    keys: PartitionKeys
    last: int
    model_id: str
    dimension: int
    claim: Claim
    sent: int = 0

    def answer(self) -> transfer_pb2.ImportResponse:
        held = self.claim
        return transfer_pb2.ImportResponse(upto=held.upto, imported=held.count, complete=held.complete)


@dataclass(frozen=True, slots=True)
class _Incoming:
    """A checked record of a batch: as it came, and as it is stored."""

    n: int
    given: transfer_pb2.TransferRecord
    record: store_pb2.Record
    details: store_pb2.TransferDetails


async def import_scope(
    parts: Parts, requests: AsyncIterator[transfer_pb2.ImportRequest], call: Call
) -> AsyncIterator[transfer_pb2.ImportResponse]:
    """Store what comes, and say after every part how far it is.

    The scope is claimed together with the first batch: an import that is refused before leaves nothing behind.
    """
    del call
    state: _Import | None = None
    async for request in requests:
        part = request.WhichOneof("part")
        if state is None:
            if part != "start":
                raise InvalidField("start", "must be the first part")
            state = await _begin(parts, request.start)
        elif part == "batch":
            state = await _store(parts, state, request.batch)
        elif part == "end":
            state = await _end(parts, state)
        else:
            raise InvalidField("part", "after the start come batches and the end")
        yield state.answer()


async def _begin(parts: Parts, start: transfer_pb2.ImportStart) -> _Import:
    if not start.import_id:
        raise InvalidField("start.import_id", "is required")
    request_id(start.import_id, "start.import_id")
    header = start.header
    check_header(header, "start.header")
    scope = whole_scope(start.scope).path
    keys = PartitionKeys.of(scope)
    current = await parts.models.current()
    dimension = await parts.models.dimension_of(current) if current and current == header.model_id else 0
    held = await _held(parts, keys, scope, start.import_id, header.last_number)
    return _Import(scope, start.import_id, keys, header.last_number, current, dimension, held)


async def _held(parts: Parts, keys: PartitionKeys, scope: str, import_id: str, last: int) -> Claim:
    """Return what an import has of its scope. Errors: ScopeNotEmpty; InvalidField for another header than before."""
    held = await read_claim(parts.store, keys, import_id)
    if held is None:
        raise ScopeNotEmpty(scope)
    if held.last is not None and held.last != last:
        raise InvalidField("start.header.last_number", "differs from the one that this import began with")
    return held


async def _store(parts: Parts, state: _Import, batch: transfer_pb2.TransferBatch) -> _Import:
    checked = check_batch(batch, state.last, state.sent, "batch")
    entries = [
        _Incoming(n, given, incoming(kind, given.memory, details), details)
        for given, (kind, n, details) in zip(batch.records, checked, strict=True)
    ]
    for i, entry in enumerate(entries):
        if state.dimension and len(entry.given.vectors) > 2 * state.dimension * WINDOWS_MAX:
            raise InvalidField(f"batch.records[{i}].vectors", f"must have at most {WINDOWS_MAX} windows")
    held = state.claim
    if not held.complete:
        new = [entry for entry in entries if entry.n > held.upto]
        after = Claim(state.last, max(held.upto, batch.upto), held.count + len(new))
        held = await _change(parts, state, after, new)
    return replace(state, sent=batch.upto, claim=held)


async def _end(parts: Parts, state: _Import) -> _Import:
    if state.claim.complete:
        return state
    return replace(state, claim=await _change(parts, state, replace(state.claim, last=state.last, complete=True), ()))


async def _change(parts: Parts, state: _Import, after: Claim, new: Sequence[_Incoming]) -> Claim:
    """Store records and note how far the import is, in one change; return the note."""
    held = state.claim
    if held.last is None:
        await register(parts, state.keys.partition, state.scope)
    async for _ in tries(ATTEMPTS):
        change = Change(state.keys)
        move_on(change, state.import_id, held, after)
        await _put(parts, change, state, new)
        outcome = await parts.store.apply(change)
        if isinstance(outcome, Applied):
            parts.warm(state.keys.partition, outcome.head)
            return after
        held = await _held(parts, state.keys, state.scope, state.import_id, state.last)
        if held != state.claim:
            raise Conflict("the same import runs elsewhere; try again")
    raise Conflict("the scope is being written to; try again")


async def _put(parts: Parts, change: Change, state: _Import, new: Sequence[_Incoming]) -> None:
    keys = state.keys
    twins: dict[str, list[int]] = {}
    sets = await sets_for(parts, keys, state.model_id if state.dimension else "")
    sets.require(change)
    for entry in new:
        n, record = entry.n, entry.record
        change.write("HSET", keys.records, n, record.SerializeToString())
        sets.put(change, n, _vectors(entry.given, state.dimension), state.model_id)
        if entry.details.HasField("learned"):
            change.write("HSET", keys.learned, n, entry.details.learned.SerializeToString())
        if entry.given.memory.recall_count:
            change.write("HSET", keys.counts, n, entry.given.memory.recall_count)
        if record.kind == store_pb2.RECORD_KIND_TURN:
            for name in names_of(record.name):
                change.write("HINCRBY", keys.speakers, name, 1)
        ref = parse_session(record.session_id)
        if record.kind == store_pb2.RECORD_KIND_EPISODE and ref is not None:
            change.write("HSET", keys.episodes, ref.ledger, n)
        if record.duplicate:
            twins.setdefault(record.duplicate, []).append(n)
        change.announce(FeedOp.RECORD, n)
    known = await parts.store.read_one(("HMGET", keys.duplicates, *twins))
    for (digest, numbers), raw in zip(twins.items(), known, strict=True):
        enlist(change, digest, raw, numbers)


def _vectors(given: transfer_pb2.TransferRecord, dimension: int) -> bytes | None:
    """Return the vectors of an imported record, b"" when the model can make none, None when they are to be made."""
    if not dimension or not given.memory.embedded:
        return None
    sound = not given.vectors or decode_vectors(given.vectors, dimension)[0] is not None
    return given.vectors if sound else None
