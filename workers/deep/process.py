"""The deep worker's parts, put together and served."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import grpc
import structlog
from redis.exceptions import RedisError

from remembrancer.internal.v1 import tier_pb2_grpc
from remembrancer.runtime import logs, server
from remembrancer.runtime.interceptors import WorkerToken, chain
from remembrancer.store.connection import connect
from remembrancer.v1 import common_pb2
from workers.deep.partition import DeepPartition
from workers.deep.search import search
from workers.deep.settings import DeepSettings
from workers.index.model import StoreReaders
from workers.index.pull import Puller
from workers.index.servicer import TierServicer

SERVICE = "remembrancer.internal.v1.TierService"
RETRY_SECONDS = 0.2
"""Between two attempts to reach the store at the start."""


def run_worker(settings: DeepSettings, threads: int) -> None:
    """Serve until told to stop, searching and applying records in `threads` threads."""
    logs.configure(settings, "deep")
    server.run(lambda: _serve(settings, threads))


async def _serve(settings: DeepSettings, threads: int) -> None:
    redis = connect(settings.store_url, cluster=settings.store_cluster)
    token = settings.worker_token
    with ThreadPoolExecutor(threads, thread_name_prefix="search") as executor:
        readers = StoreReaders(redis, settings.dimension)
        puller = Puller(readers, DeepPartition, executor, settings.memory_mib * 2**20)
        servicer = TierServicer(puller, common_pb2.TIER_DEEP, settings.worker_id, search, executor)

        async def reachable() -> bool:
            return bool(await redis.ping())

        async def ready() -> None:
            while True:
                try:
                    await reachable()
                except (RedisError, OSError) as error:
                    structlog.get_logger().info("waiting for the store", error=type(error).__qualname__)
                    await asyncio.sleep(RETRY_SECONDS)
                else:
                    return

        def register(target: grpc.aio.Server) -> None:
            tier_pb2_grpc.add_TierServiceServicer_to_server(servicer, target)

        try:
            await server.serve(
                settings,
                name="deep",
                services={SERVICE: reachable},
                register=register,
                ready=ready,
                interceptors=chain(
                    max_in_flight=settings.max_in_flight, auth=[WorkerToken(token)] if token is not None else []
                ),
            )
        finally:
            await puller.close()
            await redis.aclose()
