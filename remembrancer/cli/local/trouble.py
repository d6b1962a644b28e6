"""Says what went wrong where the place to say it may be what is broken."""

from __future__ import annotations

import contextlib
import os
import time

_STANDARD_ERROR = 2


def report(what: str) -> None:
    """Write a line to standard error; on a full disk it is lost."""
    # Past Python's buffer, which would keep the line and fail again at exit.
    with contextlib.suppress(OSError):
        os.write(_STANDARD_ERROR, f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {what}\n".encode())
