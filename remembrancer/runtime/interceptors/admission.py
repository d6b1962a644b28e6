"""No more calls in flight than the process can serve in time; the rest is told to come back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from remembrancer.model.errors import Overloaded
from remembrancer.runtime.interceptors.base import Context, Interceptor, Method

HEALTH = "/grpc.health.v1.Health/"


class Admission(Interceptor):
    """Counts calls in flight. The server's own limit is not used: its refusal would carry no ErrorInfo."""

    def __init__(self, max_in_flight: int) -> None:
        """Take the number of calls that may be in flight at once, >= 1."""
        self._limit = max_in_flight
        self.in_flight = 0

    @asynccontextmanager
    async def around(self, method: Method, context: Context) -> AsyncIterator[None]:
        """Refuse when full; health checks always pass, or an overload would look like a death."""
        del context
        if method.name.startswith(HEALTH):
            yield
            return
        if self.in_flight >= self._limit:
            raise Overloaded("too many calls are in flight")
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
