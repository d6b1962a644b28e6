"""Every pooled connection survives a restart of the store, not only the one that met it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from remembrancer.store.connection import connect
from tests.valkey import DURABLE, Valkey

AT_ONCE = 5


async def test_no_connection_left_from_before_fails_a_call(tmp_path: Path) -> None:
    with Valkey(tmp_path, *DURABLE) as server:
        client = connect(server.url)
        waiting = [client.blpop("nothing", 0.2) for _ in range(AT_ONCE)]
        assert await asyncio.gather(*waiting) == [None] * AT_ONCE
        server.kill()
        server.start()
        await asyncio.sleep(0.1)  # The loop gets to see that its connections were closed.
        assert await asyncio.gather(*(client.get("x") for _ in range(AT_ONCE))) == [None] * AT_ONCE
        await client.aclose()
