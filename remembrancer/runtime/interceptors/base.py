"""An interceptor as a guard around a call, the same for unary and streaming methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import grpc

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler = Any
"""A grpc.RpcMethodHandler: which of its four behaviours is set depends on the kind of method."""


@dataclass(frozen=True, slots=True)
class Method:
    """The method called: its full name such as `/remembrancer.v1.RecallService/Recall`, and whether it streams."""

    name: str
    streams: bool


class Interceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Runs `around` around every call of a known method.

    A handler of a stream must write its responses: `Streams` sees to it, which has to come after.
    """

    def around(self, method: Method, context: Context) -> AbstractAsyncContextManager[None]:
        """Return what to enter before the handler and leave after it; it may raise, and see what the handler raises."""
        raise NotImplementedError

    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]], details: grpc.HandlerCallDetails
    ) -> Handler:
        """Wrap the handler; an unknown method has none and is refused by the runtime."""
        handler = await continuation(details)
        if handler is None:
            return None
        method = Method(str(details.method), bool(handler.request_streaming or handler.response_streaming))
        return rebuilt(handler, self._wrapped(method, behaviour(handler)))

    def _wrapped(self, method: Method, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def answering(request: Any, context: Context) -> Any:
            async with self.around(method, context):
                return await inner(request, context)

        return answering


def behaviour(handler: Handler) -> Callable[..., Any]:
    """Return the one behaviour that is set."""
    found: Callable[..., Any] = (
        handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    )
    return found


_UNCHANGED: Any = object()


def rebuilt(handler: Handler, new: Callable[..., Any], request_deserializer: Any = _UNCHANGED) -> Handler:
    """Return a handler of the same kind with another behaviour and, if given, another request deserializer."""
    make = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }[bool(handler.request_streaming), bool(handler.response_streaming)]
    deserializer = handler.request_deserializer if request_deserializer is _UNCHANGED else request_deserializer
    return make(new, request_deserializer=deserializer, response_serializer=handler.response_serializer)
