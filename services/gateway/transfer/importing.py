"""Import."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import Conflict, InvalidField, ScopeNotEmpty
from remembrancer.model.ids import parse_session
from remembrancer.model.speakers import names_of
from remembrancer.model.text import bounded, counted, request_id
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied, Conflicted
from remembrancer.store.reader import decode_vectors
from remembrancer.v1 import transfer_pb2
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import NAME_LENGTH
from services.gateway.shared.equal_texts import enlist
from services.gateway.shared.parts import Parts
from services.gateway.shared.registering import register, sets_for
from services.gateway.shared.retries import tries
from services.gateway.transfer.export import BATCH_RECORDS, whole_scope
from services.gateway.transfer.records import FORMAT, incoming

ATTEMPTS: Final = 8
LAST_NUMBER_MAX: Final = 10**15


@dataclass(frozen=True, slots=True)
class _Import:
    """Where an import is. `dimension` is 0 when the export's vectors cannot be taken over."""

    keys: PartitionKeys
    last: int
    model_id: str
    dimension: int
    upto: int = 0
    count: int = 0
    complete: bool = False

    def answer(self) -> transfer_pb2.ImportResponse:
        return transfer_pb2.ImportResponse(upto=self.upto, imported=self.count, complete=self.complete)


async def import_scope(
    parts: Parts, requests: AsyncIterator[transfer_pb2.ImportRequest], call: Call
) -> AsyncIterator[transfer_pb2.ImportResponse]:
    """Store what comes, and say after every part how far it is."""
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
    if header.format != FORMAT:
        raise InvalidField("start.header.format", f"must be {FORMAT}")
    if not 0 <= header.last_number <= LAST_NUMBER_MAX:
        raise InvalidField("start.header.last_number", f"must be 0 to {LAST_NUMBER_MAX}")
    if header.records < 0:
        raise InvalidField("start.header.records", "must not be negative")
    for name in ("scope", "model_id"):
        bounded(f"start.header.{name}", getattr(header, name), NAME_LENGTH)
    scope = whole_scope(start.scope)
    keys = PartitionKeys.of(scope.path)
    current = await parts.models.current()
    dimension = await parts.models.dimension_of(current) if current and current == header.model_id else 0
    state = _Import(keys, header.last_number, current, dimension)
    async for _ in tries(ATTEMPTS):
        snapshot = await parts.store.read(
            ("HMGET", keys.imported, "id", "upto", "count", "complete"), ("HGET", keys.meta, "n")
        )
        (name, upto, count, complete), n = snapshot.answers
        if name is not None and name.decode() == start.import_id:
            return replace(state, upto=int(upto), count=int(count), complete=complete is not None)
        if name is not None or n is not None:
            raise ScopeNotEmpty(scope.path)
        await register(parts, keys.partition, scope.path)
        change = Change(keys)
        change.require_same("last number", keys.meta, "n", None)
        change.require_same("import", keys.imported, "id", None)
        change.write("HSET", keys.imported, "id", start.import_id, "upto", 0, "count", 0)
        # Who writes while the import runs gets numbers after it.
        change.write("HSET", keys.meta, "n", header.last_number)
        if isinstance(await parts.store.apply(change), Applied):
            return state
    raise Conflict("the scope is being written to; try again")


async def _store(parts: Parts, state: _Import, batch: transfer_pb2.TransferBatch) -> _Import:
    counted("batch.records", batch.records, 0, BATCH_RECORDS)
    if state.complete:
        return state
    records: dict[int, store_pb2.Record] = {}
    details: dict[int, store_pb2.TransferDetails] = {}
    given: dict[int, transfer_pb2.TransferRecord] = {}
    previous = 0
    for i, entry in enumerate(batch.records):
        n, record, detail = incoming(entry, f"batch.records[{i}]")
        if not previous < n <= min(state.last, batch.upto):
            raise InvalidField(f"batch.records[{i}].memory.memory_id", "must ascend up to `upto` and `last_number`")
        previous = n
        if n > state.upto:
            records[n], details[n], given[n] = record, detail, entry
    upto = max(state.upto, min(batch.upto, state.last))
    async for _ in tries(ATTEMPTS):
        change = Change(state.keys)
        change.require_same("import", state.keys.imported, "upto", str(state.upto).encode())
        await _put(parts, change, state, records, details, given)
        change.write("HSET", state.keys.imported, "upto", upto, "count", state.count + len(records))
        match await parts.store.apply(change):
            case Applied(_, _, head):
                parts.warm(state.keys.partition, head)
                return replace(state, upto=upto, count=state.count + len(records))
            case Conflicted(_, "import"):
                raise Conflict("the same import runs elsewhere; try again")
    raise Conflict("the scope is being written to; try again")


async def _put(
    parts: Parts,
    change: Change,
    state: _Import,
    records: dict[int, store_pb2.Record],
    details: dict[int, store_pb2.TransferDetails],
    given: dict[int, transfer_pb2.TransferRecord],
) -> None:
    keys = state.keys
    twins: dict[str, list[int]] = {}
    sets = await sets_for(parts, keys, state.model_id if state.dimension else "")
    sets.require(change)
    for n, record in records.items():
        change.write("HSET", keys.records, n, record.SerializeToString())
        sets.put(change, n, _vectors(given[n], state.dimension), state.model_id)
        if details[n].HasField("learned"):
            change.write("HSET", keys.learned, n, details[n].learned.SerializeToString())
        if given[n].memory.recall_count:
            change.write("HSET", keys.counts, n, given[n].memory.recall_count)
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


async def _end(parts: Parts, state: _Import) -> _Import:
    if not state.complete:
        change = Change(state.keys)
        change.write("HSET", state.keys.imported, "complete", "1")
        await parts.store.apply(change)
    return replace(state, complete=True)
