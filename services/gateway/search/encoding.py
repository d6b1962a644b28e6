"""The gateway's access to the encoder, with what is possible without it: words and entities."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import grpc
import structlog

from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc, store_pb2
from remembrancer.model.analysis import analyse
from remembrancer.model.errors import EncoderUnavailable
from remembrancer.runtime.channels import RenewableChannel
from remembrancer.store.reader import decode_vectors
from remembrancer.v1 import common_pb2
from services.gateway.search.breaker import Breaker, NotAnswering

CHUNK_TEXTS: Final = 16
CHUNK_CHARACTERS: Final = 32000
"""Bounds of one call, about two seconds of work: a long batch leaves room for others in the encoder's write lane."""

CALL_SECONDS: Final = 8.0
"""The longest wait for one call: an encoder that hangs must not use up a write's whole deadline."""

ANALYSIS_SECONDS: Final = 6e-6
"""Per character, what the analysis of a long text takes here, without the encoder."""

UNREADABLE_TEXT: Final = common_pb2.Warning(
    code=common_pb2.WARNING_CODE_UNREADABLE_TEXT,
    message="the encoder's model cannot read a text of this call, for instance its script; words alone match it",
)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text: its vectors and its analysis.

    `vectors`: float16, little-endian, windows x dimension; b"" when the model cannot read the text, None when no
    encoder made usable ones.
    """

    vectors: bytes | None
    analysis: store_pb2.Analysis


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Texts of one call; `model_id` is "" and `dimension` 0 when none of them could be embedded.

    `unrelated_cosine` is the cosine of texts that have nothing in common.
    """

    model_id: str
    dimension: int
    texts: list[Encoded]
    unrelated_cosine: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether no text waits for its vectors."""
        return all(text.vectors is not None for text in self.texts)


class TextRefused(EncoderUnavailable):
    """The encoder is up and fails at one of these texts."""


class EncoderLate(EncoderUnavailable):
    """The encoder did not answer in time."""


class _Worker:
    def __init__(self, channel: RenewableChannel) -> None:
        self._stub: encoder_pb2_grpc.EncoderServiceAsyncStub = encoder_pb2_grpc.EncoderServiceStub(channel)
        self._breaker = Breaker(
            lambda seconds: self._stub.GetModel(encoder_pb2.GetModelRequest(), timeout=seconds), channel.renew
        )

    async def encode(self, request: encoder_pb2.EncodeRequest, seconds: float) -> encoder_pb2.EncodeResponse:
        return await self._breaker.call(lambda: self._stub.Encode(request, timeout=seconds))


class Encoder:
    """Embeds and analyses texts; what cannot be embedded is still analysed."""

    def __init__(
        self,
        channels: Sequence[RenewableChannel],
        current_model: Callable[[], Awaitable[str]],
        dimension_of: Callable[[str], Awaitable[int]],
        on_work: Callable[[], None],
    ) -> None:
        """Take channels to the encoders, tried in order, and what says whose vectors serve and how long a model's are.

        `on_work` is called whenever an encoder did its work.

        Both an encoder that was not told yet that another model serves, and one whose model is to serve later, may be
        among them: what they make is not used. Every method may raise StoreUnavailable, as `current_model` does.
        """
        self._current_model = current_model
        self._dimension_of = dimension_of
        self._dimensions: dict[str, int] = {}
        self._workers = [_Worker(channel) for channel in channels]
        self._log = structlog.get_logger()
        self._on_work = on_work

    async def encode(
        self, inputs: Sequence[tuple[str, str]], lane: encoder_pb2.Lane.ValueType, seconds: float
    ) -> EncodedTexts:
        """Return each (text to embed, text to analyse) encoded, within `seconds`.

        What was not embedded in time, or not at all, comes without vectors; what was is kept.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        found, texts, left = EncodedTexts("", 0, []), list[Encoded](), sum(len(words) for _, words in inputs)
        for chunk in chunks(inputs):
            left -= sum(len(words) for _, words in chunk)
            # What is left would have to be analysed here.
            budget = min(CALL_SECONDS, end - loop.time() - left * ANALYSIS_SECONDS)
            try:
                answer = await self.embed(chunk, lane, budget)
            except TextRefused:
                texts += await _analysed(chunk)
                continue
            except EncoderUnavailable:
                break
            if found.model_id not in ("", answer.model_id):
                break  # Vectors of one write are of one model.
            found, texts = answer, texts + answer.texts
        texts += await _analysed(inputs[len(texts) :])
        return replace(found, texts=texts)

    async def embed(
        self, inputs: Sequence[tuple[str, str]], lane: encoder_pb2.Lane.ValueType, seconds: float
    ) -> EncodedTexts:
        """Return each (text to embed, text to analyse) encoded by one call that takes at most `seconds`.

        A text at which the encoder fails comes without vectors. Errors: EncoderUnavailable.
        """
        request = encoder_pb2.EncodeRequest(
            lane=lane, inputs=[encoder_pb2.EncodeInput(text=text, analyse=words) for text, words in inputs]
        )
        answer = await self._call(request, seconds)
        if len(answer.results) != len(inputs):
            raise EncoderUnavailable("the encoder gave another number of results")
        fits = await self._has_its_dimension(answer)
        texts = [
            Encoded(_usable(result, answer.dimension) if fits else None, result.analysis) for result in answer.results
        ]
        if unusable := sum(text.vectors is None for text in texts):
            self._log.warning("encoder made no usable vectors", texts=unusable, model=answer.model_id)
        return EncodedTexts(answer.model_id, answer.dimension, texts, answer.unrelated_cosine)

    async def _has_its_dimension(self, answer: encoder_pb2.EncodeResponse) -> bool:
        """Return whether the vectors are as long as those that the store has of the model, if it has any."""
        known = self._dimensions.get(answer.model_id) or await self._dimension_of(answer.model_id)
        if known:
            self._dimensions[answer.model_id] = known
        return answer.dimension > 0 and known in (0, answer.dimension)

    async def _call(self, request: encoder_pb2.EncodeRequest, seconds: float) -> encoder_pb2.EncodeResponse:
        late = False
        for worker in self._workers:
            try:
                response = await worker.encode(request, seconds)
            except NotAnswering:
                continue
            except grpc.aio.AioRpcError as error:
                self._log.warning("encoder call failed", code=error.code().name)
                if error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL):
                    raise TextRefused("the encoder fails at a text") from error
                late = late or error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
                continue
            # A store that lost its data names none until the encoder tells it again.
            if await self._current_model() in ("", response.model_id):
                self._on_work()
                return response
            self._log.warning("encoder has another model than the current one", model=response.model_id)
        if late:
            raise EncoderLate("the encoder did not answer in time")
        raise EncoderUnavailable("texts cannot be embedded right now")


def _usable(result: encoder_pb2.Encoded, dimension: int) -> bytes | None:
    """Return the vectors of a text; None when it failed, or when they are not finite, of unit length or whole."""
    if result.failed:
        return None
    return result.vectors if not result.vectors or decode_vectors(result.vectors, dimension)[0] is not None else None


async def _analysed(inputs: Sequence[tuple[str, str]]) -> list[Encoded]:
    # In a thread, text by text: other calls go on, and a cancelled one stops soon.
    return [Encoded(None, await asyncio.to_thread(analyse, words)) for _, words in inputs]


def chunks(inputs: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield the texts in parts for one call each."""
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
