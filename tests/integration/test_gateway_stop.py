"""What a gateway leaves behind when it stops: no connection, and no wait for a store that hangs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import psutil
import pytest

from remembrancer.internal.v1 import encoder_pb2
from remembrancer.store.connection import CLOSE_SECONDS
from services.gateway.process import opened
from services.gateway.settings import GatewaySettings
from tests.valkey import Valkey


def connections_to(port: int) -> int:
    """Return how many connections of this process lead to a port."""
    return sum(bool(held.raddr) and held.raddr.port == port for held in psutil.Process().net_connections("tcp"))


def settings(store: Valkey, worker: str) -> GatewaySettings:
    return GatewaySettings(
        store_url=store.url,
        encoder_targets=worker,
        active_targets=worker,
        deep_targets=f"{worker},{worker}",
    )


async def test_every_connection_is_closed(tmp_path: Path) -> None:
    worker = grpc.aio.server()
    port = worker.add_insecure_port("127.0.0.1:0")
    await worker.start()
    with Valkey(tmp_path) as store:
        async with opened(settings(store, f"127.0.0.1:{port}")) as parts:
            await parts.store.ping()
            asked = parts.encoder.encode([("a", "a")], encoder_pb2.LANE_WRITE, 5.0)
            await asyncio.gather(asked, *(t.answers() for t in parts.tiers.values()))
            assert connections_to(port) == 4
            assert connections_to(store.port) == 1
        async with asyncio.timeout(5):
            while connections_to(port) + connections_to(store.port):  # noqa: ASYNC110  (nothing tells of it)
                await asyncio.sleep(0.01)
    await worker.stop(0)


async def test_a_store_that_hangs_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    clock = asyncio.get_running_loop().time
    with Valkey(tmp_path) as store:
        async with opened(settings(store, "127.0.0.1:1")) as parts:
            await parts.store.ping()
            store.suspend()
            # More than the connection's buffers take.
            sent = asyncio.ensure_future(parts.store.read(("HGET", "key", "x" * 2**25)))
            await asyncio.sleep(0.2)
            left = clock()
        assert clock() - left < CLOSE_SECONDS + 0.5
        sent.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sent
