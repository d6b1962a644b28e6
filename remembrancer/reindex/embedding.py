"""Embeds texts of the store with the new model; a text that cannot be embedded costs no other one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import grpc

from remembrancer.internal.v1 import encoder_pb2
from remembrancer.store.reader import decode_vectors

CALL_SECONDS: Final = 300.0
"""The longest wait for one call of the encoder, which may hold sixteen of the longest texts."""


class ReindexRefused(Exception):
    """The reindexing cannot begin or go on; the message is one line for the operator."""


class Embedding:
    """Asks one encoder; `skipped` counts the texts that it failed at or refused."""

    def __init__(self, stub: Any, model: encoder_pb2.GetModelResponse) -> None:
        """Take the stub of the encoder and the model that it has to serve all the time."""
        self._stub = stub
        self._model = model
        self.skipped = 0

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vectors of each text; b"" when there are none: only words find it then.

        Errors: ReindexRefused when the encoder serves another model; grpc.aio.AioRpcError.
        """
        if not texts:
            return []
        try:
            results = await self._encode(texts)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.INVALID_ARGUMENT:
                raise
            if len(texts) > 1:
                # One text that the encoder does not take, such as a longer one than any call stores, fails them all.
                return [(await self.embed([text]))[0] for text in texts]
            results = [encoder_pb2.Encoded(failed=True)]
        return [self._vectors(result) for result in results]

    async def _encode(self, texts: Sequence[str]) -> Sequence[encoder_pb2.Encoded]:
        inputs = [encoder_pb2.EncodeInput(text=text) for text in texts]
        request = encoder_pb2.EncodeRequest(lane=encoder_pb2.LANE_WRITE, inputs=inputs)
        answer = await self._stub.Encode(request, timeout=CALL_SECONDS)
        if answer.model_id != self._model.model_id:
            raise ReindexRefused(
                f"the encoder makes vectors of {answer.model_id} now, no longer of {self._model.model_id}"
            )
        return list(answer.results)

    def _vectors(self, result: encoder_pb2.Encoded) -> bytes:
        found = usable(result, self._model.dimension)
        # Without vectors and not failed: a text that the model cannot read, as every model has some.
        self.skipped += not found and (result.failed or bool(result.vectors))
        return found


def usable(result: encoder_pb2.Encoded, dimension: int) -> bytes:
    """Return the vectors of a text; b"" when they are not finite, whole and of unit length: only words find it then."""
    return b"" if decode_vectors(result.vectors, dimension)[0] is None else result.vectors
