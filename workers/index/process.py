"""A tier worker put together. Both tiers are the same but for index and search."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import grpc

from remembrancer.internal.v1 import tier_pb2, tier_pb2_grpc
from remembrancer.runtime.interceptors import WorkerToken, chain
from remembrancer.runtime.server import serve
from remembrancer.store.connection import opened
from remembrancer.store.waiting import until_reachable
from remembrancer.v1 import common_pb2
from workers.index.model import Model, StoreReaders
from workers.index.pull import Index, Puller
from workers.index.servicer import Search, TierServicer
from workers.index.settings import TierSettings

SERVICE = tier_pb2.DESCRIPTOR.services_by_name["TierService"].full_name

T = TypeVar("T", bound=Index)


@dataclass(frozen=True, slots=True)
class TierSpec(Generic[T]):
    """What sets one tier apart: its name, what makes an empty index of a partition, and the search over it."""

    name: str
    tier: common_pb2.Tier.ValueType
    factory: Callable[[Model], T]
    search: Search[T]


async def serve_tier(spec: TierSpec[T], settings: TierSettings, threads: int) -> None:
    """Serve until told to stop, searching and applying records in `threads` threads."""
    token = settings.worker_token
    worker_id = settings.worker_id or f"{spec.name}-{socket.gethostname()}"
    with ThreadPoolExecutor(threads, thread_name_prefix="search") as executor:
        async with opened(settings.store_url, cluster=settings.store_cluster) as redis:
            puller = Puller(StoreReaders(redis), spec.factory, executor, settings.memory_mib * 2**20)
            servicer = TierServicer(puller, spec.tier, worker_id, spec.search, executor)

            def register(target: grpc.aio.Server) -> None:
                tier_pb2_grpc.add_TierServiceServicer_to_server(servicer, target)

            try:
                await serve(
                    settings,
                    name=spec.name,
                    services={SERVICE: redis.ping},
                    register=register,
                    ready=partial(until_reachable, redis.ping),
                    interceptors=chain(
                        max_in_flight=settings.max_in_flight, auth=[WorkerToken(token)] if token is not None else []
                    ),
                )
            finally:
                await puller.close()
