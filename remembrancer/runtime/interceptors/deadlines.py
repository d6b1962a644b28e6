"""No unary call runs without an end, whether or not its caller set one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from remembrancer.runtime import deadline
from remembrancer.runtime.interceptors.base import Context, Interceptor, Method


class Deadlines(Interceptor):
    """Bounds calls by the caller's deadline, else by a default; streams are bounded by their caller only."""

    def __init__(self, default: float, by_method: Mapping[str, float]) -> None:
        """Take the default in seconds and those of single methods, by full name."""
        self._default = default
        self._by_method = dict(by_method)

    @asynccontextmanager
    async def around(self, method: Method, context: Context) -> AsyncIterator[None]:
        """Note the end for `deadline.remaining` and cancel the handler at it; that raises TimeoutError."""
        own = context.time_remaining()
        if own is None:
            own = None if method.streams else self._by_method.get(method.name, self._default)
        own = None if own is None else min(own, deadline.LONGEST)
        token = deadline.bind(own)
        try:
            async with asyncio.timeout(own):
                yield
        finally:
            deadline.unbind(token)
