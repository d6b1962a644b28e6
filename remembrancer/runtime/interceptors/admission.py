"""No more calls in flight than the process can serve in time; the rest is told to come back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from remembrancer.model.errors import Overloaded
from remembrancer.runtime.interceptors.base import Context, Interceptor, Method

HEALTH = "/grpc.health.v1.Health/"


class Admission(Interceptor):
    """Counts calls in flight. The server's own limit is not used: its refusal would carry no ErrorInfo."""

    def __init__(self, max_in_flight: int, max_streams: int) -> None:
        """Take how many calls may be in flight at once, >= 1, and how many streams beside them, >= 1.

        Streams last long and cost little: counted with the others, some that stand still would shut everybody out.
        """
        self._limit = {False: max_in_flight, True: max_streams}
        self.in_flight = {False: 0, True: 0}

    @asynccontextmanager
    async def around(self, method: Method, context: Context) -> AsyncIterator[None]:
        """Refuse when full; health checks always pass, or an overload would look like a death."""
        del context
        if method.name.startswith(HEALTH):
            yield
            return
        kind = method.streams
        if self.in_flight[kind] >= self._limit[kind]:
            raise Overloaded("too many streams are open" if kind else "too many calls are in flight")
        self.in_flight[kind] += 1
        try:
            yield
        finally:
            self.in_flight[kind] -= 1
