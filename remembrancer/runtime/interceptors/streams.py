"""Streams end when nothing moves in them for too long.

Whatever ends a stream, from either side, is raised inside the handler, in the task and context of the call. Left to the
runtime, a response generator is closed later and elsewhere: the status is lost, and what was noted for the call cannot
be undone.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import grpc

from remembrancer.model.errors import DeadlinePassed
from remembrancer.runtime.interceptors.base import Context, Handler, Interceptor, behaviour, rebuilt


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How many streams may be open at once, and in seconds how long one may stand still and how long it may last."""

    at_once: int = 16
    idle: float = 60.0
    whole: float = 3600.0


class Streams(Interceptor):
    """Writes what response generators yield, and gives each part, in and out, its time."""

    def __init__(self, limits: StreamLimits) -> None:
        """Take the limits of one stream."""
        self._idle = limits.idle

    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]], details: grpc.HandlerCallDetails
    ) -> Handler:
        """Put a handler that writes in the place of one that yields; others stay as they are."""
        handler = await continuation(details)
        if handler is None or not handler.response_streaming or not inspect.isasyncgenfunction(behaviour(handler)):
            return handler
        return rebuilt(handler, self._writing(behaviour(handler), requests=bool(handler.request_streaming)))

    def _writing(self, inner: Callable[..., AsyncIterator[Any]], *, requests: bool) -> Callable[..., Any]:
        async def writing(request: Any, context: Context) -> None:
            loop = asyncio.get_running_loop()
            try:
                async with asyncio.timeout(self._idle) as limit:

                    def moved() -> None:
                        limit.reschedule(loop.time() + self._idle)

                    given = _noticed(request, moved) if requests else request
                    async with aclosing(inner(given, context)) as responses:  # type: ignore[type-var]
                        async for response in responses:
                            moved()
                            await context.write(response)
                            moved()
            except grpc.aio.InternalError:
                # The caller cut the stream while a response was on its way.
                raise asyncio.CancelledError from None
            except TimeoutError:
                if limit.expired():
                    raise DeadlinePassed(f"nothing moved in this stream for {self._idle:g} seconds") from None
                raise

        return writing


async def _noticed(parts: AsyncIterator[Any], moved: Callable[[], None]) -> AsyncIterator[Any]:
    async for part in parts:
        moved()
        yield part
