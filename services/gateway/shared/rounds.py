"""Background work that goes round many things: what one of them lacks costs it its turn and the others nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Generic, TypeVar

import structlog
from google.protobuf.message import DecodeError
from redis.exceptions import RedisError

from remembrancer.model.errors import Conflict, EncoderUnavailable, StoreDamaged, StoreUnavailable, WriteNotDurable

T = TypeVar("T", bound=Hashable)


class Round(Generic[T]):
    """Works on one thing after the other; an outage or rivals delay one, damaged data of it are reported once."""

    def __init__(self, name: str, work: Callable[[T], Awaitable[None]]) -> None:
        """Take the work's name for the log, and what does it for one thing: a partition, or something in one."""
        self._name = name
        self._work = work
        self._damaged: set[T] = set()
        self._log = structlog.get_logger()

    async def go(self, things: Iterable[T]) -> None:
        """Work on each; the next may fare better than one that fails."""
        for thing in things:
            try:
                await self._work(thing)
            except (Conflict, EncoderUnavailable, StoreUnavailable, WriteNotDurable) as error:
                self._log.debug("left for the next round", work=self._name, on=thing, reason=type(error).__name__)
            except (StoreDamaged, RedisError, DecodeError, ValueError) as error:
                if thing not in self._damaged:
                    self._damaged.add(thing)
                    self._log.error("damaged", work=self._name, on=thing, reason=type(error).__name__)
