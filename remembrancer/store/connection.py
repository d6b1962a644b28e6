"""Opens the asyncio client of the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError, RedisClusterException, RedisError
from redis.maint_notifications import MaintNotificationsConfig

POOL_SIZE: Final = 50
"""Connections of one process, to each node of a cluster; further calls wait their turn."""

WAIT_SECONDS: Final = 5.0
"""How long a call waits for a connection, for connecting, and for one answer."""

CLOSE_SECONDS: Final = 1.0
"""The longest wait at the close for a store that does not take what was sent to it."""


@asynccontextmanager
async def opened(url: str, *, cluster: bool = False) -> AsyncIterator[Any]:
    """Yield what `connect` returns, and close its connections after."""
    client = connect(url, cluster=cluster)
    try:
        yield client
    finally:
        with suppress(RedisError, OSError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await client.aclose()


def connect(url: str, *, cluster: bool = False) -> Any:
    """Return an asyncio Redis or RedisCluster client that answers bytes. It connects on first use.

    The client never repeats a command by itself: a change whose answer was lost may have been applied. On a cluster it
    follows redirects, which are answers of a node that did nothing.
    """
    once = Retry(NoBackoff(), 0)
    # With these on, the client takes a pooled connection whose server is gone for a good one.
    quiet = MaintNotificationsConfig(enabled=False)
    if cluster:
        return _Cluster.from_url(
            url,
            max_connections=2 * POOL_SIZE,
            socket_timeout=WAIT_SECONDS,
            socket_connect_timeout=WAIT_SECONDS,
            retry=once,
            maint_notifications_config=quiet,
            # A redirect is learned for its whole range of slots; closing every connection, as would happen after some
            # redirects otherwise, would fail the calls of others.
            reinitialize_steps=0,
        )
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=POOL_SIZE,
        timeout=WAIT_SECONDS,
        socket_timeout=WAIT_SECONDS,
        socket_connect_timeout=WAIT_SECONDS,
        retry=once,
        maint_notifications_config=quiet,
    )
    # Made this way, `aclose` closes the pool, too.
    return _Single.from_pool(pool)


class _Single(Redis):
    """A client of one server, or of whichever server is behind one address."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Carry out one command."""
        try:
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except ReadOnlyError:
            # The server was demoted: who leads now is found by connecting anew.
            await self.connection_pool.disconnect(inuse_connections=False)
            raise


class _Cluster(RedisCluster):
    """A client of a cluster whose calls wait for a connection, as those of a single server do.

    Every failure is a RedisError; one to find the cluster at all is a ConnectionError that says "connecting".
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._places = asyncio.Semaphore(POOL_SIZE)

    async def initialize(self, *args: Any, **options: Any) -> RedisCluster:
        """Learn which node has which slots."""
        try:
            return await super().initialize(*args, **options)
        except RedisClusterException as error:
            raise RedisConnectionError("connecting to the cluster failed") from error

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Carry out one command on the node that has its keys."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            raise RedisConnectionError("no connection available") from None
        try:
            return await super().execute_command(*args, **options)
        except RedisClusterException as error:
            raise RedisConnectionError("connecting to the cluster failed") from error
        finally:
            self._places.release()
