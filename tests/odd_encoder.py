"""An encoder that answers what a test wants: a real server, without a model."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent import futures
from types import TracebackType
from typing import Any, Self

import grpc
import numpy as np

from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc
from remembrancer.model.analysis import analyse


def unit(dimension: int) -> bytes:
    """Return a vector that is as it should be."""
    vector = np.zeros(dimension, dtype="<f2")
    vector[0] = 1
    return vector.tobytes()


class OddEncoder(encoder_pb2_grpc.EncoderServiceServicer):
    """Embeds each text as `vectors(text)` says, which may abort the call. A context manager."""

    def __init__(self, model_id: str, dimension: int) -> None:
        self.model_id, self.dimension = model_id, dimension
        self.vectors: Callable[[str, grpc.ServicerContext], bytes] = lambda text, context: unit(dimension)
        self.calls: list[list[str]] = []
        self.lanes: set[int] = set()
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        encoder_pb2_grpc.add_EncoderServiceServicer_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def Encode(self, request: encoder_pb2.EncodeRequest, context: Any) -> encoder_pb2.EncodeResponse:  # noqa: N802
        self.calls.append([item.text for item in request.inputs])
        self.lanes.add(request.lane)
        return encoder_pb2.EncodeResponse(
            model_id=self.model_id,
            dimension=self.dimension,
            results=[
                encoder_pb2.Encoded(vectors=self.vectors(item.text, context), analysis=analyse(item.analyse))
                for item in request.inputs
            ],
        )

    def GetModel(self, request: encoder_pb2.GetModelRequest, context: Any) -> encoder_pb2.GetModelResponse:  # noqa: N802
        return encoder_pb2.GetModelResponse(model_id=self.model_id, dimension=self.dimension, window=256)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(0)


def sleeping(seconds: float, context: grpc.ServicerContext) -> None:
    """Sleep while the call is alive."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and context.is_active():
        time.sleep(0.02)
