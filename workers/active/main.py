"""Composition root of the active worker."""

from __future__ import annotations

from remembrancer.runtime.settings import load
from remembrancer.runtime.threads import limit_threads
from workers.active.settings import ActiveSettings


def main() -> None:
    """Run the active worker until it is told to stop."""
    settings = load(ActiveSettings)
    threads = limit_threads(settings.threads)
    # The numeric libraries read the thread limits once, when they are imported.
    from remembrancer.v1 import common_pb2
    from workers.active.search import search
    from workers.index.partition import PartitionIndex
    from workers.index.process import TierSpec, run_tier

    run_tier(TierSpec("active", common_pb2.TIER_ACTIVE, PartitionIndex, search), settings, threads)
