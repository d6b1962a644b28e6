"""Starts a worker of the active tier."""

from __future__ import annotations

from functools import partial

from remembrancer.runtime import logs, server
from remembrancer.runtime.settings import load
from remembrancer.runtime.threads import limit_threads
from workers.active.settings import ActiveSettings


def main() -> None:
    """Run the active worker until it is told to stop."""
    settings = load(ActiveSettings)
    logs.configure(settings, "active")
    threads = limit_threads(settings.threads)
    # The numeric libraries read the thread limits once, when they are imported.
    from workers.active.process import SPEC
    from workers.index.process import serve_tier

    server.run(partial(serve_tier, SPEC, settings, threads))
