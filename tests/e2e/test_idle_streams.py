"""Imports that stand still beside others' recalls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory
from remembrancer.runtime.status import reason_of
from remembrancer.v1 import memory_pb2_grpc, transfer_pb2
from tests.service import OpenSession, contents


async def _open(stub: memory_pb2_grpc.MemoryServiceAsyncStub, scope: str, held: list[object]) -> str:
    """Begin an import, send no more and hold it; return why it was refused, "" while it is open."""

    async def begins() -> AsyncIterator[transfer_pb2.ImportRequest]:
        header = transfer_pb2.TransferHeader(format=1, scope=scope, last_number=1)
        start = transfer_pb2.ImportStart(import_id="i", header=header)
        start.scope.path = f"{scope}-idle"
        yield transfer_pb2.ImportRequest(start=start)
        await asyncio.sleep(600)

    call = stub.Import(begins())
    held.append(call)
    try:
        answer = await call.read()
    except grpc.aio.AioRpcError as refused:
        return reason_of(refused) or f"{refused.code()} {refused.details()}"
    return "" if isinstance(answer, transfer_pb2.ImportResponse) else "ended"


async def test_t10_idle_imports_shut_out_nobody(
    client: Client, scope: str, service: LocalService, open_session: OpenSession
) -> None:
    await asyncio.to_thread(client.remember, [memory("fact", "Heron is the staging host.")], scope=scope)
    held: list[object] = []
    async with grpc.aio.insecure_channel(service.address) as channel:
        stub: memory_pb2_grpc.MemoryServiceAsyncStub = memory_pb2_grpc.MemoryServiceStub(channel)
        reasons = await asyncio.gather(*(_open(stub, scope, held) for _ in range(300)))
        assert reasons.count("") == 16
        # Some are refused before the client has sent their first part, of which it makes an error of its own.
        assert "OVERLOADED" in reasons
        session = await asyncio.to_thread(open_session)
        found = await asyncio.to_thread(session.recall, "the staging host")
        assert contents(found) == ["Heron is the staging host."]
