"""Who calls, and for how long the call may still run."""

from __future__ import annotations

from typing import Any, Final

from remembrancer.runtime.deadline import remaining

LOCAL_CALLER: Final = "local"
"""Everyone's name while no credentials are configured, which is allowed on loopback only."""


class Call:
    """One call: its caller, and its time."""

    def __init__(self, context: Any) -> None:
        """Take the servicer context."""
        self._context = context
        self.caller = LOCAL_CALLER

    @property
    def seconds_left(self) -> float:
        """Seconds until the call's deadline."""
        return remaining(self._context)
