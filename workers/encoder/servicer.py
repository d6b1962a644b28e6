"""The encoder's gRPC service."""

from __future__ import annotations

from typing import Any

from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc
from remembrancer.model.errors import EncoderUnavailable, InvalidField
from remembrancer.model.limits import PROCEDURE_LENGTH
from workers.encoder.encoding import Encoding
from workers.encoder.lanes import Lane

MAX_INPUTS = 100
MAX_TEXT = PROCEDURE_LENGTH
"""Code points: a procedure's text is the longest there is."""

_LANES = {
    encoder_pb2.LANE_UNSPECIFIED: Lane.WRITE,
    encoder_pb2.LANE_QUERY: Lane.QUERY,
    encoder_pb2.LANE_WRITE: Lane.WRITE,
    encoder_pb2.LANE_REFILL: Lane.REFILL,
}


class EncoderServicer(encoder_pb2_grpc.EncoderServiceServicer):
    """Serves one model, once it is known to be the store's."""

    def __init__(self, encoding: Encoding) -> None:
        """Take what encodes."""
        self._encoding = encoding
        self._confirmed = False

    def confirm(self) -> None:
        """Start to answer: the store serves vectors of this model."""
        self._confirmed = True

    async def Encode(  # noqa: N802  (the service's name)
        self, request: encoder_pb2.EncodeRequest, context: Any
    ) -> encoder_pb2.EncodeResponse:
        """Encode 1..100 texts; InvalidField beyond that, EncoderUnavailable before the model is confirmed."""
        del context
        if not self._confirmed:
            raise EncoderUnavailable("the encoder has not reached the store yet")
        lane = _checked(request)
        model = self._encoding.model
        results = await self._encoding.encode(lane, request.inputs)
        return encoder_pb2.EncodeResponse(
            model_id=model.id, dimension=model.dimension, results=results, unrelated_cosine=model.unrelated_cosine
        )

    async def GetModel(  # noqa: N802  (the service's name)
        self, request: encoder_pb2.GetModelRequest, context: Any
    ) -> encoder_pb2.GetModelResponse:
        """Say which model is served."""
        del request, context
        model = self._encoding.model
        return encoder_pb2.GetModelResponse(model_id=model.id, dimension=model.dimension, window=model.window)


def _checked(request: encoder_pb2.EncodeRequest) -> Lane:
    if request.lane not in _LANES:
        raise InvalidField("lane", "is not a known lane")
    if not 1 <= len(request.inputs) <= MAX_INPUTS:
        raise InvalidField("inputs", f"must hold 1..{MAX_INPUTS} texts")
    for index, item in enumerate(request.inputs):
        for name in ("text", "analyse"):
            if len(getattr(item, name)) > MAX_TEXT:
                raise InvalidField(f"inputs[{index}].{name}", f"must have at most {MAX_TEXT} characters")
    return _LANES[request.lane]
