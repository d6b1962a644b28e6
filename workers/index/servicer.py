"""The tier interface around a puller and a search function."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Generic, TypeVar

import grpc

from remembrancer.internal.v1 import tier_pb2, tier_pb2_grpc
from remembrancer.model.errors import Cancelled
from remembrancer.runtime import deadline
from remembrancer.v1 import common_pb2
from workers.index.model import Model
from workers.index.pull import Index, Puller

RESERVE_SECONDS = 0.1
RESERVE_SHARE = 0.2
"""Kept back of the caller's time, whichever is less, so that an error still reaches it in time."""

Checkpoint = Callable[[], None]
"""Called between the stages of a search; raises Cancelled once the caller is gone."""

T = TypeVar("T", bound=Index)

Search = Callable[[T, tier_pb2.SearchRequest, Checkpoint], tier_pb2.SearchResponse]


class TierServicer(tier_pb2_grpc.TierServiceServicer, Generic[T]):
    """Serves one tier: pulls, then searches in an executor."""

    def __init__(
        self, puller: Puller[T], tier: common_pb2.Tier.ValueType, worker_id: str, search: Search[T], executor: Executor
    ) -> None:
        """Take the parts; `search` is called in `executor`, with the index brought up to the request's head."""
        self._puller = puller
        self._tier = tier
        self._worker_id = worker_id
        self._search = search
        self._executor = executor

    async def Search(  # noqa: N802
        self, request: tier_pb2.SearchRequest, context: grpc.aio.ServicerContext[object, object]
    ) -> tier_pb2.SearchResponse:
        """Bring the partition up to the request's head and search it."""
        left = deadline.remaining(context)
        left -= min(RESERVE_SECONDS, RESERVE_SHARE * left)
        index = await self._puller.current(request.partition, request.head, left, Model.of_query(request))
        gone = threading.Event()

        def checkpoint() -> None:
            if gone.is_set():
                raise Cancelled("the caller is gone")

        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._executor, self._search, index, request, checkpoint)
        finally:
            gone.set()

    async def Warm(  # noqa: N802
        self, request: tier_pb2.WarmRequest, context: grpc.aio.ServicerContext[object, object]
    ) -> tier_pb2.WarmResponse:
        """Start catching up with a partition."""
        del context
        self._puller.warm(request.partition, request.head)
        return tier_pb2.WarmResponse()

    async def GetStatus(  # noqa: N802
        self, request: tier_pb2.GetStatusRequest, context: grpc.aio.ServicerContext[object, object]
    ) -> tier_pb2.GetStatusResponse:
        """Say who this worker is and what it holds."""
        del request, context
        return tier_pb2.GetStatusResponse(worker_id=self._worker_id, tier=self._tier, partitions=self._puller.held())
