"""No call runs without an end, whether or not its caller set one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from remembrancer.runtime import deadline
from remembrancer.runtime.interceptors.base import Context, Interceptor, Method


class Deadlines(Interceptor):
    """Bounds calls by the caller's deadline, else by a default; a stream ends after its whole time at the latest."""

    def __init__(self, default: float, by_method: Mapping[str, float], stream: float) -> None:
        """Take, in seconds, the default, those of single methods by full name, and the longest time of a stream."""
        self._stream = stream
        self._default = default
        self._by_method = dict(by_method)

    @asynccontextmanager
    async def around(self, method: Method, context: Context) -> AsyncIterator[None]:
        """Note the end for `deadline.remaining` and cancel the handler at it; that raises TimeoutError."""
        own = context.time_remaining()
        if own is None:
            own = self._stream if method.streams else self._by_method.get(method.name, self._default)
        own = min(own, self._stream if method.streams else deadline.LONGEST)
        token = deadline.bind(own)
        try:
            async with asyncio.timeout(own):
                yield
        finally:
            deadline.unbind(token)
