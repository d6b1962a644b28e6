"""Encodes the texts of one call, window by window, through the lanes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from remembrancer.internal.v1 import encoder_pb2
from remembrancer.model.analysis import analyse
from workers.encoder.lanes import Lane, Lanes
from workers.encoder.model import Model, Vector


class Encoding:
    """Turns inputs into results. Work stops at the next window when the call is cancelled."""

    def __init__(self, model: Model, lanes: Lanes) -> None:
        """Take the model and the lanes its work runs in."""
        self.model = model
        self._lanes = lanes
        self._log = structlog.get_logger()

    async def encode(self, lane: Lane, inputs: Sequence[encoder_pb2.EncodeInput]) -> list[encoder_pb2.Encoded]:
        """Return one result per input, in order; a text that the model fails at is marked and costs no other one.

        A call has at most as many texts under way as there are threads, so that a long one leaves room for others.
        """
        results = [encoder_pb2.Encoded() for _ in inputs]
        waiting = iter(zip(inputs, results, strict=True))

        async def worker() -> None:
            for source, result in waiting:
                await self._encode(lane, source, result)

        workers = [asyncio.ensure_future(worker()) for _ in range(min(self._lanes.threads, len(inputs)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for each in workers:
                each.cancel()
        return results

    async def _encode(self, lane: Lane, source: encoder_pb2.EncodeInput, result: encoder_pb2.Encoded) -> None:
        try:
            result.vectors = await self._vectors(lane, source.text)
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001  (the libraries raise bare Exceptions, and panics when in Rust)
            result.failed = True
            self._log.error("a text cannot be embedded", characters=len(source.text), error=type(error).__name__)
        if source.analyse:
            result.analysis.CopyFrom(await self._lanes.run(lane, analyse, source.analyse))

    async def _vectors(self, lane: Lane, text: str) -> bytes:
        windows, vectors = await self._lanes.run(lane, self._begin, lane, text)
        for window in windows[1:]:
            vectors.append(await self._lanes.run(lane, self.model.embed, window))
        return b"".join(vector.tobytes() for vector in vectors)

    def _begin(self, lane: Lane, text: str) -> tuple[list[list[int]], list[Vector]]:
        """Return the windows of a text and the vector of the first, so that a short text takes one turn."""
        windows = self.model.windows(text, query=lane is Lane.QUERY)
        return windows, [self.model.embed(window) for window in windows[:1]]
