"""Export."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

from remembrancer.model.errors import InvalidField
from remembrancer.model.scope import ScopeKey, parse_scope
from remembrancer.model.transfer import BATCH_RECORDS, FORMAT
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.live import oldest_after
from remembrancer.store.partition import fields_at, members_at
from remembrancer.v1 import common_pb2, transfer_pb2
from services.gateway.requests.calls import Call
from services.gateway.shared.parts import Parts
from services.gateway.transfer.records import outgoing

CHUNK: Final = 50
"""Records read at a time."""

BATCH_BYTES: Final = 1 << 20


async def export(
    parts: Parts, request: transfer_pb2.ExportRequest, call: Call
) -> AsyncIterator[transfer_pb2.ExportResponse]:
    """Yield the header, then batches of records."""
    del call
    scope = whole_scope(request.scope)
    if request.after < 0:
        raise InvalidField("after", "must be 0 or a sequence number")
    keys = PartitionKeys.of(scope.path)
    model_id = await parts.models.current()
    n, count = (await parts.store.read(("HGET", keys.meta, "n"), ("HLEN", keys.records))).answers
    last = decode.last_number(n)
    yield transfer_pb2.ExportResponse(
        header=transfer_pb2.TransferHeader(
            format=FORMAT, scope=scope.path, last_number=last, model_id=model_id, records=count
        )
    )
    batch, size = transfer_pb2.TransferBatch(), 0
    after = request.after
    while ns := await oldest_after(parts.store, keys, after, CHUNK, last):
        after = ns[-1]
        for n, record in await _records(parts, keys, ns, model_id, scope.path):
            size += record.ByteSize()
            if batch.records and (size > BATCH_BYTES or len(batch.records) == BATCH_RECORDS):
                batch.upto = n - 1
                yield transfer_pb2.ExportResponse(batch=batch)
                batch, size = transfer_pb2.TransferBatch(), record.ByteSize()
            batch.records.append(record)
    batch.upto = max(last, request.after)
    yield transfer_pb2.ExportResponse(batch=batch)


def whole_scope(scope: common_pb2.Scope) -> ScopeKey:
    """Return the scope of a transfer. Errors: InvalidField, also for a tenant's user or session."""
    key = parse_scope(scope)
    if key.user_id or key.conversation_id:
        raise InvalidField("scope.tenant", "takes neither user_id nor session_id here: whole scopes are transferred")
    return key


async def _records(
    parts: Parts, keys: PartitionKeys, ns: Sequence[int], model_id: str, scope: str
) -> list[tuple[int, transfer_pb2.TransferRecord]]:
    snapshot = await parts.store.read(
        *(fields_at(key, ns) for key in (keys.records, keys.vectors(model_id), keys.learned, keys.counts)),
        members_at(keys.unembedded, ns),
    )
    # Once another model serves, what is left of this one's vectors goes, and no longer follows the texts.
    serves = await parts.models.current() == model_id
    return [
        (
            n,
            outgoing(
                n,
                record,
                (vectors or b"") if serves else b"",
                learned,
                decode.number(count) or 0,
                scope,
                embedded=serves and not waiting,
            ),
        )
        for n, raw, vectors, learned, count, waiting in zip(ns, *snapshot.answers, strict=True)
        if (record := decode.record(raw)) is not None
    ]
