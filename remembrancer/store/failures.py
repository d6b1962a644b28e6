"""What a failure of the store's client means for the call that met it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from redis.exceptions import (
    BusyLoadingError,
    ClusterDownError,
    DataError,
    InvalidResponse,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from remembrancer.model.errors import StoreUnavailable, WriteNotDurable

_PASSING: Final = (BusyLoadingError, ReadOnlyError, OutOfMemoryError, ClusterDownError, TryAgainError)
"""Refusals that say something of the store's state and nothing of the command."""

_PASSING_CODES: Final = ("MISCONF", "NOREPLICAS", "BUSY")
"""More of them, which the client has no classes for: a full disk, too few replicas, a script that takes long."""

_UNANSWERED: Final = (RedisConnectionError, RedisTimeoutError, OSError, InvalidResponse)


@contextmanager
def store_failures(*, changing: bool = False) -> Iterator[None]:
    """Raise StoreUnavailable for what fails inside, WriteNotDurable for a change that was sent and is not answered.

    `changing` stands for a change that must not happen twice; whatever can be repeated does without. A refusal that is
    due to the command itself is a mistake of ours, and is left as it is.
    """
    try:
        yield
    except (RedisError, OSError) as error:
        passing = isinstance(error, _PASSING) or _code(error) in _PASSING_CODES
        if isinstance(error, ResponseError | DataError) and not passing:
            raise
        if changing and not passing and isinstance(error, _UNANSWERED) and not _never_sent(error):
            raise WriteNotDurable(
                "it is not known whether the write is durable; retry with the same request_id"
            ) from error
        raise StoreUnavailable("the store cannot be reached") from error


def _code(error: Exception) -> str:
    return str(error).partition(" ")[0]


def _never_sent(error: Exception) -> bool:
    text = str(error).lower()
    return "connecting" in text or "no connection available" in text
