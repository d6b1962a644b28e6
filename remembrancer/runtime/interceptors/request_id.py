"""A request id on every line that a call logs, taken from the caller or made here, and passed on to workers."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from remembrancer.runtime.interceptors.base import Context, Interceptor, Method

METADATA_KEY = "x-request-id"
_MAX_LENGTH = 64


class RequestIds(Interceptor):
    """Binds `request_id` and `method` for the logs."""

    @asynccontextmanager
    async def around(self, method: Method, context: Context) -> AsyncIterator[None]:
        """Bind for the length of the call."""
        sent = next((v for k, v in context.invocation_metadata() or () if k == METADATA_KEY), None)
        with structlog.contextvars.bound_contextvars(request_id=_usable(sent) or uuid.uuid4().hex, method=method.name):
            yield


def current() -> str | None:
    """Return the id of the call being handled, None outside of one."""
    found = structlog.contextvars.get_contextvars().get("request_id")
    return found if isinstance(found, str) else None


def _usable(sent: object) -> str | None:
    if isinstance(sent, str) and 0 < len(sent) <= _MAX_LENGTH and all("!" <= c <= "~" for c in sent):
        return sent
    return None
