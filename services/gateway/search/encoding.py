"""The gateway's access to the encoder, with what is possible without it: words and entities."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import grpc
import structlog

from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc, store_pb2
from remembrancer.model.analysis import analyse
from remembrancer.model.errors import EncoderUnavailable
from remembrancer.v1 import common_pb2

CHUNK_TEXTS: Final = 16
CHUNK_CHARACTERS: Final = 32000
"""Bounds of one call, about two seconds of work: a long batch leaves room for others in the encoder's write lane."""

CALL_SECONDS: Final = 8.0
"""The longest wait for one call: an encoder that hangs must not use up a write's whole deadline."""


UNREADABLE_TEXT: Final = common_pb2.Warning(
    code=common_pb2.WARNING_CODE_UNREADABLE_TEXT,
    message="the encoder's model cannot read a text of this call, for instance its script; words alone match it",
)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text: its vectors and its analysis.

    `vectors`: float16, little-endian, windows x dimension; b"" when the model cannot read the text, None when there was
    no encoder to try.
    """

    vectors: bytes | None
    analysis: store_pb2.Analysis


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Texts of one call; `model_id` is "" and `dimension` 0 when they could not be embedded.

    `unrelated_cosine` is the cosine of texts that have nothing in common.
    """

    model_id: str
    dimension: int
    texts: list[Encoded]
    unrelated_cosine: float = 0.0


class TextRefused(EncoderUnavailable):
    """The encoder is up and will never take one of these texts."""


class Encoder:
    """Embeds and analyses texts; what cannot be embedded is still analysed."""

    def __init__(self, channels: Sequence[grpc.aio.Channel], current_model: Callable[[], Awaitable[str]]) -> None:
        """Take channels to the encoders, tried in order, and what says whose vectors serve.

        Both an encoder that was not told yet that another model serves, and one whose model is to serve later, may be
        among them: what they make is not used. Every method may raise StoreUnavailable, as `current_model` does.
        """
        self._current_model = current_model
        self._stubs = [encoder_pb2_grpc.EncoderServiceStub(channel) for channel in channels]
        self._log = structlog.get_logger()
        self.worked_at = 0.0
        """When an encoder last did its work, in seconds since 1970."""

    async def encode(
        self, inputs: Sequence[tuple[str, str]], lane: encoder_pb2.Lane.ValueType, seconds: float
    ) -> EncodedTexts:
        """Return each (text to embed, text to analyse) encoded, within `seconds`; without vectors if that fails."""
        try:
            return await self.embed(inputs, lane, seconds)
        except EncoderUnavailable:
            # In a thread, text by text: other calls go on, and a cancelled one stops soon.
            analyses = [await asyncio.to_thread(analyse, text) for _, text in inputs]
            return EncodedTexts("", 0, [Encoded(None, analysis) for analysis in analyses])

    async def embed(
        self, inputs: Sequence[tuple[str, str]], lane: encoder_pb2.Lane.ValueType, seconds: float
    ) -> EncodedTexts:
        """Return each (text to embed, text to analyse) encoded, within `seconds`. Errors: EncoderUnavailable."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        model_id, dimension, unrelated, texts = "", 0, 0.0, []
        for chunk in _chunks(inputs):
            request = encoder_pb2.EncodeRequest(
                lane=lane, inputs=[encoder_pb2.EncodeInput(text=text, analyse=words) for text, words in chunk]
            )
            response = await self._call(request, min(CALL_SECONDS, end - loop.time()))
            if model_id not in ("", response.model_id):
                raise EncoderUnavailable("the encoder changed its model between two texts")
            model_id, dimension, unrelated = response.model_id, response.dimension, response.unrelated_cosine
            texts += [Encoded(result.vectors, result.analysis) for result in response.results]
        return EncodedTexts(model_id, dimension, texts, unrelated)

    async def _call(self, request: encoder_pb2.EncodeRequest, seconds: float) -> encoder_pb2.EncodeResponse:
        for stub in self._stubs:
            try:
                response = await stub.Encode(request, timeout=seconds)
            except grpc.aio.AioRpcError as error:
                self._log.warning("encoder call failed", code=error.code().name)
                if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
                    raise TextRefused("the encoder refuses a text") from error
                continue
            # A store that lost its data names none until the encoder tells it again.
            if await self._current_model() in ("", response.model_id):
                self.worked_at = time.time()
                return response
            self._log.warning("encoder has another model than the current one", model=response.model_id)
        raise EncoderUnavailable("texts cannot be embedded right now")


def _chunks(inputs: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    chunk: list[tuple[str, str]] = []
    characters = 0
    for text, words in inputs:
        if chunk and (len(chunk) == CHUNK_TEXTS or characters + len(text) > CHUNK_CHARACTERS):
            yield chunk
            chunk, characters = [], 0
        chunk.append((text, words))
        characters += len(text)
    if chunk:
        yield chunk
