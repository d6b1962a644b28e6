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
    from remembrancer.v1 import common_pb2
    from workers.deep.partition import DeepPartition
    from workers.deep.search import search
    from workers.index.process import TierSpec, run_tier

    run_tier(TierSpec("deep", common_pb2.TIER_DEEP, DeepPartition, search), settings, threads)
