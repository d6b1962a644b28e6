"""How long the call being handled may still take."""

from __future__ import annotations

import contextvars
import time
from typing import Any

UNBOUNDED = 3600.0
"""Seconds reported for a call without any deadline (a stream), and for one whose deadline is further away."""

LONGEST = 30 * 86_400.0
"""Seconds; a caller's deadline beyond this counts as this: event loops and gRPC cannot count any far one."""

_ends: contextvars.ContextVar[float | None] = contextvars.ContextVar("remembrancer_deadline", default=None)


def bind(seconds: float | None) -> contextvars.Token[float | None]:
    """Note, for the current task, that the call ends in `seconds`; None = no end. Undo it with `unbind`."""
    return _ends.set(None if seconds is None else time.monotonic() + seconds)


def unbind(token: contextvars.Token[float | None]) -> None:
    """Forget what `bind` noted."""
    _ends.reset(token)


def remaining(context: Any) -> float:
    """Return the seconds left for the call, never negative.

    The caller's own deadline or, when there is none, the server's default counts; `UNBOUNDED` without either.
    """
    own = context.time_remaining()
    ends = _ends.get()
    left = (own, None if ends is None else ends - time.monotonic())
    return max(0.0, min([UNBOUNDED, *(seconds for seconds in left if seconds is not None)]))
