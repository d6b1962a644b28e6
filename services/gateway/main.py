"""Starts the gateway."""

from __future__ import annotations

from functools import partial

from remembrancer.runtime import logs, server
from remembrancer.runtime.settings import load
from remembrancer.runtime.threads import limit_threads
from services.gateway.settings import GatewaySettings


def main() -> None:
    """Run the gateway until it is told to stop."""
    settings = load(GatewaySettings)
    logs.configure(settings, "gateway")
    limit_threads(settings.threads)
    # The numeric libraries read the thread limits once, when they are imported.
    from services.gateway.process import serve_gateway

    server.run(partial(serve_gateway, settings))
