"""Starts a worker of the deep tier."""

from __future__ import annotations

from functools import partial

from remembrancer.runtime import logs, server
from remembrancer.runtime.settings import load
from remembrancer.runtime.threads import limit_threads
from workers.deep.settings import DeepSettings


def main() -> None:
    """Run the deep worker until it is told to stop."""
    settings = load(DeepSettings)
    logs.configure(settings, "deep")
    threads = limit_threads(settings.threads)
    # The numeric libraries read the thread limits once, when they are imported.
    from workers.deep.process import SPEC
    from workers.index.process import serve_tier

    server.run(partial(serve_tier, SPEC, settings, threads))
