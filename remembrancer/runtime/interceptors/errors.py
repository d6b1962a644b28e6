"""Whatever a handler or an inner interceptor raises becomes a status with exactly one ErrorInfo."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

import grpc
import structlog

from remembrancer.model.errors import Cancelled, DeadlinePassed, InternalError, RemembrancerError
from remembrancer.runtime import status
from remembrancer.runtime.interceptors.base import Context, Interceptor, Method


class Errors(Interceptor):
    """Maps exceptions to statuses. What nobody foresaw is logged here, and the caller learns INTERNAL and no more."""

    def __init__(self) -> None:
        self._log = structlog.get_logger()

    @asynccontextmanager
    async def around(self, method: Method, context: Context) -> AsyncIterator[None]:
        """Map what is raised inside."""
        del method
        try:
            yield
        except (grpc.aio.AbortError, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise  # the first has sent its status, the second closes a stream nobody reads, the others end the process
        except RemembrancerError as error:
            await _abort(context, error)
        except asyncio.CancelledError as cancelled:
            await self._cancelled(context, cancelled)
        except TimeoutError:
            await _abort(context, DeadlinePassed("the deadline passed"))
        # Not only an Exception: a library in Rust that panics raises a BaseException, and the call would never end.
        except BaseException:  # noqa: BLE001  (the one place that must let nothing through)
            self._log.error("call failed unexpectedly", exc_info=True)
            await _abort(context, InternalError("internal error"))

    async def _cancelled(self, context: Context, cancelled: asyncio.CancelledError) -> NoReturn:
        """Send a status before passing the cancellation on.

        The runtime sends none for a cancelled handler. When the caller went away or the server is stopping, there is
        nobody to send it to and the attempt fails; when something inside was cancelled, the caller would wait for ever.
        """
        left = context.time_remaining()
        passed = left is not None and left <= 0
        error = DeadlinePassed("the deadline passed") if passed else Cancelled("the call was cancelled")
        try:
            await _abort(context, error)
        except asyncio.CancelledError:
            raise cancelled from None


async def _abort(context: Context, error: RemembrancerError) -> NoReturn:
    """Send the status. Errors: CancelledError when there is nobody to send it to."""
    found = status.to_status(error)
    try:
        await context.abort(status.grpc_code(found), found.message, status.trailers(found))
    except grpc.aio.InternalError:
        raise asyncio.CancelledError from None
