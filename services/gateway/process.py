"""The gateway put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import structlog

from remembrancer.model import probable_answer_coefficients
from remembrancer.runtime.channels import RenewableChannel, open_channel
from remembrancer.runtime.interceptors import StreamLimits, chain
from remembrancer.runtime.refusal import StartRefused
from remembrancer.runtime.server import serve
from remembrancer.store import connection
from remembrancer.store.models import ModelRegistry
from remembrancer.store.outage import EncoderOutage
from remembrancer.store.partition import PartitionStore
from remembrancer.store.rewrite import Rewriter
from remembrancer.store.safety import StoreSafety
from remembrancer.store.scopes import ScopeRegistry
from remembrancer.store.sessions import Retention
from remembrancer.store.sweep import Sweeper
from remembrancer.store.waiting import until_reachable
from remembrancer.v1 import common_pb2, memory_pb2_grpc, recall_pb2_grpc, session_pb2_grpc
from services.gateway.memories.forgetting.background import erase_leftovers
from services.gateway.memories.refill import refill
from services.gateway.search.answer import Answerer
from services.gateway.search.encoding import Encoder
from services.gateway.search.fairness import PartitionGate
from services.gateway.search.searcher import Searcher
from services.gateway.search.tiers import TierWorkers
from services.gateway.servicers import MemoryServicer, RecallServicer, SessionServicer
from services.gateway.settings import GatewaySettings, targets
from services.gateway.shared.counters import RecallCounters
from services.gateway.shared.operating_context import OperatingContext
from services.gateway.shared.parts import Parts
from services.gateway.shared.tokens import TokenCounter

CALL_SECONDS = 5.0
LONG_CALL_SECONDS = 60.0
"""Deadlines of calls whose caller set none: of most, and of those that write or count."""

CONNECTION_AGE = 300.0
"""Seconds a caller's connection lives, so that new gateways get their share."""

LONG_CALLS = (
    "/remembrancer.v1.SessionService/Activate",
    "/remembrancer.v1.SessionService/Feedback",
    "/remembrancer.v1.SessionService/Commit",
    "/remembrancer.v1.SessionService/AbandonSession",
    "/remembrancer.v1.MemoryService/Remember",
    "/remembrancer.v1.MemoryService/RecordTurns",
    "/remembrancer.v1.MemoryService/UpdateMemory",
    "/remembrancer.v1.MemoryService/Forget",
    "/remembrancer.v1.MemoryService/RestoreMemory",
    "/remembrancer.v1.MemoryService/PausePersistence",
    "/remembrancer.v1.MemoryService/ResumePersistence",
    "/remembrancer.v1.MemoryService/GetScope",
)


async def serve_gateway(settings: GatewaySettings) -> None:
    """Serve until told to stop."""
    async with opened(settings) as parts:
        parts.operating_context.check()
        await _serve_parts(parts, settings)


async def _serve_parts(parts: Parts, settings: GatewaySettings) -> None:
    def register(server: grpc.aio.Server) -> None:
        session_pb2_grpc.add_SessionServiceServicer_to_server(SessionServicer(parts), server)
        recall_pb2_grpc.add_RecallServiceServicer_to_server(RecallServicer(parts), server)
        memory_pb2_grpc.add_MemoryServiceServicer_to_server(MemoryServicer(parts), server)

    async def can_recall() -> bool:
        return await parts.store.reachable() and any(
            await asyncio.gather(*(tier.answers() for tier in parts.tiers.values()))
        )

    await serve(
        settings,
        name="gateway",
        services={
            "remembrancer.v1.SessionService": parts.store.reachable,
            "remembrancer.v1.RecallService": can_recall,
            "remembrancer.v1.MemoryService": parts.store.reachable,
        },
        register=register,
        ready=partial(_look_at_store, parts, settings),
        interceptors=chain(
            max_in_flight=settings.max_in_flight,
            default_deadline=CALL_SECONDS,
            deadlines=dict.fromkeys(LONG_CALLS, LONG_CALL_SECONDS),
            streams=StreamLimits(settings.max_streams, settings.stream_idle_seconds, settings.stream_seconds),
        ),
        background=[partial(refill, parts), partial(erase_leftovers, parts)],
        connection_age=CONNECTION_AGE,
    )


async def _look_at_store(parts: Parts, settings: GatewaySettings) -> None:
    """Wait for the store, and say what about it is not safe. Errors: StartRefused when it is too old."""
    await until_reachable(parts.store.ping)
    old = await until_reachable(parts.safety.too_old)
    if old:
        raise StartRefused(old)
    for line in await until_reachable(parts.safety.unsafe_options):
        if not settings.store_unsafe:
            structlog.get_logger().warning(f"{line}; REMEMBRANCER_STORE_UNSAFE=true accepts it")


@asynccontextmanager
async def opened(settings: GatewaySettings) -> AsyncIterator[Parts]:
    """Yield the gateway's parts; nothing connects before it is used, and every connection is closed after."""
    async with AsyncExitStack() as connections:
        # Closed last: what a worker's answer is waited for goes on to the store.
        redis = await connections.enter_async_context(
            connection.opened(settings.store_url, cluster=settings.store_cluster)
        )

        def channel(target: str) -> RenewableChannel:
            made = open_channel(target, settings.worker_token)
            connections.push_async_callback(made.close, None)
            return made

        yield _compose(settings, redis, channel)


def _compose(settings: GatewaySettings, redis: Any, channel: Callable[[str], RenewableChannel]) -> Parts:
    store, models = PartitionStore(redis), ModelRegistry(redis)
    outage = EncoderOutage(redis)
    encoder = Encoder(
        [channel(target) for target in targets(settings.encoder_targets)],
        models.current,
        models.dimension_of,
        outage.over,
    )
    tiers = {
        tier: TierWorkers(name, [(target, channel(target)) for target in targets(listed)])
        for tier, name, listed in (
            (common_pb2.TIER_ACTIVE, "active", settings.active_targets),
            (common_pb2.TIER_DEEP, "deep", settings.deep_targets),
        )
    }
    structlog.get_logger().info(
        "composed", encoders=len(targets(settings.encoder_targets)), store_cluster=settings.store_cluster
    )
    return Parts(
        store=store,
        scopes=ScopeRegistry(redis),
        models=models,
        sweeper=Sweeper(redis),
        rewriter=Rewriter(redis),
        safety=StoreSafety(redis),
        counters=RecallCounters(store),
        encoder=encoder,
        outage=outage,
        tiers=tiers,
        searcher=Searcher(
            store, encoder, tiers, PartitionGate(settings.partition_searches, settings.partition_waiting)
        ),
        list_gate=PartitionGate(settings.partition_searches, settings.partition_waiting),
        write_gate=PartitionGate(settings.partition_writes, settings.partition_waiting),
        answerer=Answerer(probable_answer_coefficients.load(), enabled=settings.probable_answer),
        tokens=TokenCounter(),
        operating_context=OperatingContext(
            Path(settings.operating_context_file) if settings.operating_context_file else None
        ),
        retention=Retention(
            idle_ms=settings.session_idle_seconds * 1000,
            kept_ms=settings.session_kept_seconds * 1000,
            stateless_ms=settings.stateless_kept_seconds * 1000,
        ),
        session_retrievals=settings.session_retrievals,
    )
