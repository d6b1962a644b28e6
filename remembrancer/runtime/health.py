"""The standard health service (grpc.health.v1): NOT_SERVING until proven otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as library  # type: ignore[attr-defined]  # missing in the stubs

HealthCheck = Callable[[], Awaitable[bool]]
"""Says whether a service can do its work right now; may raise, which means no. Bounded by `CHECK_TIMEOUT`."""

CHECK_EVERY = 1.0
"""Seconds between two rounds of checks."""

CHECK_TIMEOUT = 2.0
"""Seconds after which a check counts as failed."""

_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Health(library.HealthServicer):  # type: ignore[misc]
    """Health of a process and of its services.

    `""` says that the start-up is done and no shutdown has begun: what an orchestrator probes, so that a blip of the
    store does not take the process away from its callers. A named service also says whether it can do its work.
    """

    def __init__(self, services: Mapping[str, HealthCheck | None]) -> None:
        """Take full service names and their checks; None = healthy whenever the process is."""
        super().__init__()
        self._checks = dict(services)
        self._closing = asyncio.Event()
        self._log = structlog.get_logger()
        self._last: dict[str, bool] = {}
        for name in ("", *services):
            self._server_status[name] = _NOT_SERVING  # the library starts `""` as SERVING

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:  # noqa: N802  (the service's name)
        """Stream changes; ends at shutdown, or a watcher would hold the process until the grace is over."""
        watching = asyncio.ensure_future(super().Watch(request, context))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait((watching, closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
            watching.cancel()
            await asyncio.gather(watching, closing, return_exceptions=True)

    async def started(self) -> None:
        """Report that the start-up is done."""
        await self.set("", _SERVING)
        await self.check_once()

    async def keep_checking(self) -> None:
        """Run all checks every `CHECK_EVERY` seconds, for ever."""
        while True:
            await asyncio.sleep(CHECK_EVERY)
            await self.check_once()

    async def check_once(self) -> None:
        """Run all checks once, side by side, and set the named services accordingly."""
        results = await asyncio.gather(*(self._passes(name) for name in self._checks))
        for name, passes in zip(self._checks, results, strict=True):
            if self._last.get(name) != passes:
                self._last[name] = passes
                self._log.info("service health", service=name, serving=passes)
            await self.set(name, _SERVING if passes else _NOT_SERVING)

    async def stop_serving(self) -> None:
        """Set everything to NOT_SERVING for good."""
        await self.enter_graceful_shutdown()

    def close(self) -> None:
        """End all watches."""
        self._closing.set()

    async def _passes(self, name: str) -> bool:
        check = self._checks[name]
        if check is None:
            return True
        try:
            async with asyncio.timeout(CHECK_TIMEOUT):
                return await check()
        except Exception as error:  # noqa: BLE001  (a check that fails in any way is a service that is not well)
            self._log.debug("health check failed", service=name, error=type(error).__qualname__)
            return False
