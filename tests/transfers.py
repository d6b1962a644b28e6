"""Exports made by hand, and a gateway without a server that takes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import parse_record
from remembrancer.v1 import common_pb2, record_pb2, transfer_pb2
from services.gateway.requests.calls import Call
from services.gateway.shared.parts import Parts
from services.gateway.transfer.export import export
from services.gateway.transfer.importing import import_scope

CALL = Call(None)
"""What transfers are told of their call; they ask it nothing."""

NOON = timestamp_pb2.Timestamp(seconds=1_700_000_000)


def path(scope: str) -> common_pb2.Scope:
    return common_pb2.Scope(path=scope)


def record(memory_id: str, content: str = "The gate is green.") -> transfer_pb2.TransferRecord:
    """Return a record as an export has it, without vectors."""
    kind = (parse_record(memory_id) or (0, 0))[0]
    memory = record_pb2.MemoryRecord(
        memory_id=memory_id,
        content=content,
        type=common_pb2.MEMORY_TYPE_FACT
        if kind == store_pb2.RECORD_KIND_OBSERVATION
        else common_pb2.MEMORY_TYPE_UNSPECIFIED,
        status=common_pb2.MEMORY_STATUS_ACTIVE,
        axes=common_pb2.Axes(agent_id="default-agent", project_id=""),
        origin_scope="test:origin",
        occurred_at=NOON,
        recorded_at=NOON,
    )
    details = store_pb2.TransferDetails()
    if kind == store_pb2.RECORD_KIND_PROCEDURE:
        details.procedure.CopyFrom(store_pb2.ProcedureBody(goal="a goal", summary="a summary", steps=["a step"]))
    return transfer_pb2.TransferRecord(memory=memory, details=details.SerializeToString())


def batch(*records: transfer_pb2.TransferRecord, upto: int) -> transfer_pb2.TransferBatch:
    return transfer_pb2.TransferBatch(records=records, upto=upto)


def start(scope: str, import_id: str, last: int, records: int = 0) -> transfer_pb2.ImportStart:
    header = transfer_pb2.TransferHeader(format=1, scope="test:origin", last_number=last, records=records)
    return transfer_pb2.ImportStart(scope=path(scope), import_id=import_id, header=header)


async def requests(
    first: transfer_pb2.ImportStart, batches: Iterable[transfer_pb2.TransferBatch], *, ends: bool = True
) -> AsyncIterator[transfer_pb2.ImportRequest]:
    yield transfer_pb2.ImportRequest(start=first)
    for each in batches:
        yield transfer_pb2.ImportRequest(batch=each)
    if ends:
        yield transfer_pb2.ImportRequest(end=transfer_pb2.ImportEnd())


async def imported(
    parts: Parts, first: transfer_pb2.ImportStart, *batches: transfer_pb2.TransferBatch, ends: bool = True
) -> list[transfer_pb2.ImportResponse]:
    """Import, and return the answers. Errors: those of Import."""
    return [answer async for answer in import_scope(parts, requests(first, batches, ends=ends), CALL)]


async def exported(parts: Parts, scope: str) -> list[transfer_pb2.ExportResponse]:
    return [part async for part in export(parts, transfer_pb2.ExportRequest(scope=path(scope)), CALL)]


def records_of(parts: Iterable[transfer_pb2.ExportResponse]) -> list[transfer_pb2.TransferRecord]:
    return [found for part in parts for found in part.batch.records]
