"""The encoder process put together."""

from __future__ import annotations

import structlog

from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc
from remembrancer.runtime import logs
from remembrancer.runtime.interceptors import WorkerToken, chain
from remembrancer.runtime.server import serve
from remembrancer.store.connection import connect
from workers.encoder.current_model import claim
from workers.encoder.encoding import Encoding
from workers.encoder.lanes import Lanes
from workers.encoder.model import Model
from workers.encoder.models import resolve
from workers.encoder.servicer import EncoderServicer
from workers.encoder.settings import EncoderSettings

SERVICE = encoder_pb2.DESCRIPTOR.services_by_name["EncoderService"].full_name
DEADLINE = 60.0
"""Seconds for callers that set none: a full batch of the longest texts on one thread."""


async def main(settings: EncoderSettings, threads: int) -> None:
    """Serve until told to stop."""
    logs.configure(settings, "encoder")
    model = Model(resolve(settings.model, settings.model_cache))
    structlog.get_logger().info("model loaded", model=model.id, dimension=model.dimension, threads=threads)
    lanes = Lanes(threads)
    servicer = EncoderServicer(Encoding(model, lanes))
    redis = connect(settings.store_url, cluster=settings.store_cluster)

    async def ready() -> None:
        await claim(redis, model.id, model.dimension)
        servicer.confirm()

    try:
        await serve(
            settings,
            name="encoder",
            services={SERVICE: None},
            register=lambda server: encoder_pb2_grpc.add_EncoderServiceServicer_to_server(servicer, server),
            ready=ready,
            interceptors=chain(
                max_in_flight=settings.max_in_flight,
                default_deadline=DEADLINE,
                auth=[WorkerToken(settings.worker_token)] if settings.worker_token else (),
            ),
        )
    finally:
        lanes.close()
        await redis.aclose()
