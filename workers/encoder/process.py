"""The encoder put together."""

from __future__ import annotations

import asyncio
from contextlib import closing

import structlog

from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc
from remembrancer.runtime.interceptors import WorkerToken, chain
from remembrancer.runtime.server import serve
from remembrancer.store.connection import opened
from remembrancer.store.models import ModelRegistry
from workers.encoder.current_model import chosen, claim, keep
from workers.encoder.encoding import Encoding
from workers.encoder.lanes import Lanes
from workers.encoder.model import Model
from workers.encoder.models import resolve
from workers.encoder.servicer import EncoderServicer
from workers.encoder.settings import EncoderSettings

SERVICE = encoder_pb2.DESCRIPTOR.services_by_name["EncoderService"].full_name
DEADLINE = 60.0
"""Seconds for callers that set none: a full batch of the longest texts on one thread."""


async def serve_encoder(settings: EncoderSettings, threads: int) -> None:
    """Serve until told to stop, encoding in `threads` threads."""
    async with opened(settings.store_url, cluster=settings.store_cluster) as redis:
        models = ModelRegistry(redis)
        wanted = settings.model if settings.next else await chosen(models, settings.model, settings.models_file)
        model = Model(resolve(wanted, settings.model_cache))
        structlog.get_logger().info("model loaded", model=model.id, dimension=model.dimension, threads=threads)
        with closing(Lanes(threads)) as lanes:
            servicer = EncoderServicer(Encoding(model, lanes))
            claimed = asyncio.Event()

            async def ready() -> None:
                if not settings.next:
                    await claim(models, model.id, model.dimension)
                servicer.confirm()
                claimed.set()

            async def watch() -> None:
                await claimed.wait()
                await keep(models, model.id, model.dimension, serves=not settings.next)

            await serve(
                settings,
                name="encoder",
                services={SERVICE: None},
                register=lambda server: encoder_pb2_grpc.add_EncoderServiceServicer_to_server(servicer, server),
                ready=ready,
                background=[watch],
                interceptors=chain(
                    max_in_flight=settings.max_in_flight,
                    default_deadline=DEADLINE,
                    auth=[WorkerToken(settings.worker_token)] if settings.worker_token else (),
                ),
            )
