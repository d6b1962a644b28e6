"""Background work that goes round the partitions: what one of them lacks costs it its turn and the others nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import structlog
from google.protobuf.message import DecodeError
from redis.exceptions import RedisError

from remembrancer.model.errors import EncoderUnavailable, StoreUnavailable, WriteNotDurable


class Round:
    """Works on partitions one by one; an outage delays a partition, damaged data of it are reported once."""

    def __init__(self, name: str, work: Callable[[str], Awaitable[None]]) -> None:
        """Take the work's name for the log, and what does it for one partition."""
        self._name = name
        self._work = work
        self._damaged: set[str] = set()
        self._log = structlog.get_logger()

    async def go(self, partitions: Iterable[str]) -> None:
        """Work on each; the next may fare better than one that fails."""
        for partition in partitions:
            try:
                await self._work(partition)
            except (EncoderUnavailable, StoreUnavailable, WriteNotDurable) as error:
                self._log.debug("a partition waits", work=self._name, partition=partition, reason=type(error).__name__)
            except (RedisError, DecodeError, ValueError) as error:
                if partition not in self._damaged:
                    self._damaged.add(partition)
                    reason = type(error).__name__
                    self._log.error("a partition is damaged", work=self._name, partition=partition, reason=reason)
