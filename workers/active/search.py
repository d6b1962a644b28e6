"""A search of the active tier."""

from __future__ import annotations

from collections.abc import Callable

from remembrancer.internal.v1 import tier_pb2
from workers.index.partition import PartitionIndex


def search(
    partition: PartitionIndex, request: tier_pb2.SearchRequest, checkpoint: Callable[[], None]
) -> tier_pb2.SearchResponse:
    """Answer `request` from the partition as it stands; `checkpoint` is called between stages and may raise to stop."""
    checkpoint()
    with partition.lock:
        found = partition.search(request)
        checkpoint()
        return tier_pb2.SearchResponse(
            direct=found.candidates,
            procedures=partition.procedures(request),
            any_live=found.any_live,
            words_only=found.words_only,
        )
