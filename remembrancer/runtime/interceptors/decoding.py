"""Undecodable request bytes get a clean INVALID_ARGUMENT.

Left to the runtime, decoding happens outside of all interceptors and its failure reaches the caller as UNKNOWN.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from remembrancer.model.errors import InvalidField
from remembrancer.runtime.interceptors.base import Context, Handler, Interceptor, behaviour, rebuilt


class Decoding(Interceptor):
    """Decodes requests inside the interceptors, streamed ones one by one. Must be the innermost one."""

    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]], details: grpc.HandlerCallDetails
    ) -> Handler:
        """Take the deserializer out of the handler and call it in the handler's place."""
        handler = await continuation(details)
        if handler is None or handler.request_deserializer is None:
            return handler
        decode, inner = handler.request_deserializer, behaviour(handler)

        def decoded(raw: bytes) -> Any:
            try:
                return decode(raw)
            except DecodeError:
                raise InvalidField("request", "the bytes are not a message of this method") from None

        async def each_decoded(raw: AsyncIterator[bytes]) -> AsyncIterator[Any]:
            async for part in raw:
                yield decoded(part)

        request = each_decoded if handler.request_streaming else decoded

        async def unary(raw: Any, context: Context) -> Any:
            return await inner(request(raw), context)

        async def stream(raw: Any, context: Context) -> AsyncIterator[Any]:
            async for response in inner(request(raw), context):
                yield response

        generates = handler.response_streaming and inspect.isasyncgenfunction(inner)
        return rebuilt(handler, stream if generates else unary, request_deserializer=None)
