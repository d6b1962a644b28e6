"""The gateway's access to one tier's workers."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Final

import grpc
import structlog

from remembrancer.internal.v1 import tier_pb2, tier_pb2_grpc
from remembrancer.model.errors import (
    PartitionLoading,
    PartitionTooLarge,
    RemembrancerError,
    TierLate,
    TierUnreachable,
)
from remembrancer.runtime.channels import RenewableChannel
from remembrancer.runtime.status import reason_of
from services.gateway.search.breaker import Breaker, NotAnswering

_REASONS: Final[dict[str, type[RemembrancerError]]] = {
    "PARTITION_LOADING": PartitionLoading,
    "PARTITION_TOO_LARGE": PartitionTooLarge,
    "DEADLINE": TierLate,
}
_TEXTS: Final[dict[type[RemembrancerError], str]] = {
    PartitionLoading: "the tier is still loading the scope",
    PartitionTooLarge: "the scope is too large for the tier",
    TierLate: "the tier did not answer in time",
    TierUnreachable: "the tier cannot be reached",
}
WARM_SECONDS: Final = 2.0
STATUS_SECONDS: Final = 1.0


class _Worker:
    def __init__(self, target: str, channel: RenewableChannel) -> None:
        self.target = target
        self.stub: tier_pb2_grpc.TierServiceAsyncStub = tier_pb2_grpc.TierServiceStub(channel)
        self.breaker = Breaker(self.status, channel.renew)

    async def status(self, seconds: float) -> tier_pb2.GetStatusResponse:
        return await self.stub.GetStatus(tier_pb2.GetStatusRequest(), timeout=seconds)

    async def search(self, request: tier_pb2.SearchRequest, seconds: float) -> tier_pb2.SearchResponse:
        return await self.breaker.call(lambda: self.stub.Search(request, timeout=seconds))


class TierWorkers:
    """All workers of one tier. A partition goes to the same worker as long as that one answers, which keeps it warm."""

    def __init__(self, name: str, channels: Sequence[tuple[str, RenewableChannel]]) -> None:
        """Take the tier's name for the log, and (target, channel) of each worker."""
        self._name = name
        self._workers = [_Worker(target, channel) for target, channel in channels]
        self._log = structlog.get_logger()
        self._warming: set[asyncio.Task[None]] = set()

    async def search(self, request: tier_pb2.SearchRequest, seconds: float) -> tier_pb2.SearchResponse:
        """Return what the tier finds within `seconds`.

        Errors: TierUnreachable, TierLate, PartitionLoading, PartitionTooLarge.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        failure: RemembrancerError = TierUnreachable(_TEXTS[TierUnreachable])
        workers = [worker for worker in self._order(request.partition) if not worker.breaker.is_open]
        for position, worker in enumerate(workers):
            left = end - loop.time()
            if left <= 0:
                raise TierLate(_TEXTS[TierLate])
            # One that hangs must leave time for another to answer.
            share = left if position == len(workers) - 1 else left / 2
            try:
                return await worker.search(request, share)
            except NotAnswering:
                failure = TierLate(_TEXTS[TierLate])
            except grpc.aio.AioRpcError as error:
                failure = _failure(error)
                self._log.warning("tier call failed", tier=self._name, code=error.code().name, reason=reason_of(error))
        raise failure

    async def answers(self) -> bool:
        """Return whether any worker answers at all."""
        return any(await asyncio.gather(*(_answers(worker) for worker in self._workers)))

    def warm(self, partition: str, head: str) -> None:
        """Tell the partition's worker about a new head and do not wait: it catches up before somebody asks."""
        task = asyncio.ensure_future(self._warm(partition, head))
        self._warming.add(task)
        task.add_done_callback(self._warming.discard)

    async def _warm(self, partition: str, head: str) -> None:
        request = tier_pb2.WarmRequest(partition=partition, head=head)
        for worker in self._order(partition)[:1]:
            if worker.breaker.is_open:
                return
            try:
                await worker.stub.Warm(request, timeout=WARM_SECONDS)
            except grpc.aio.AioRpcError:
                self._log.debug("warming failed", tier=self._name)

    def _order(self, partition: str) -> list[_Worker]:
        """Return the workers by rendezvous hash: each partition has its own fixed order."""
        return sorted(self._workers, key=lambda w: hashlib.sha256(f"{partition}|{w.target}".encode()).digest())


async def _answers(worker: _Worker) -> bool:
    try:
        await worker.status(STATUS_SECONDS)
    except grpc.aio.AioRpcError:
        return False
    return True


def _failure(error: grpc.aio.AioRpcError) -> RemembrancerError:
    kind = _REASONS.get(reason_of(error) or "")
    if kind is None:
        kind = TierLate if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED else TierUnreachable
    return kind(_TEXTS[kind])
