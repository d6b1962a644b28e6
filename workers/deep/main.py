"""Composition root of the deep worker."""

from __future__ import annotations

from remembrancer.runtime.settings import load
from remembrancer.runtime.threads import limit_threads
from workers.deep.settings import DeepSettings


def main() -> None:
    """Run the deep worker until it is told to stop."""
    settings = load(DeepSettings)
    threads = limit_threads(settings.threads)
    # The numeric libraries read the thread limits once, when they are imported.
    from workers.deep.process import run_worker

    run_worker(settings, threads)
