"""Opens the asyncio client of the store."""

from __future__ import annotations

from typing import Any, Final

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

POOL_SIZE: Final = 50
"""Connections of one process; further calls wait their turn."""

WAIT_SECONDS: Final = 5.0
"""How long a call waits for a connection, for connecting, and for one answer."""


def connect(url: str, *, cluster: bool = False) -> Any:
    """Return an asyncio Redis or RedisCluster client that answers bytes. It connects on first use.

    The client never repeats a command by itself: a change whose answer was lost may have been applied.
    """
    if cluster:
        return RedisCluster.from_url(
            url,
            max_connections=POOL_SIZE,
            socket_timeout=WAIT_SECONDS,
            socket_connect_timeout=WAIT_SECONDS,
        )
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=POOL_SIZE,
        timeout=WAIT_SECONDS,
        socket_timeout=WAIT_SECONDS,
        socket_connect_timeout=WAIT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    return Redis(connection_pool=pool)
