"""Free ports on the loopback interface."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return distinct ports that were free a moment ago; all are held until the last one is found."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for held in sockets:
            held.bind((LOOPBACK, 0))
        return [held.getsockname()[1] for held in sockets]


def is_free(port: int) -> bool:
    """Say whether a port can be bound now."""
    return obstacle(port) == ""


def obstacle(port: int) -> str:
    """Return why a port cannot be bound now, as the rest of a sentence; empty when it can."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections are still winding down is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except PermissionError:
            return "needs a privilege that this user does not have"
        except OSError as error:
            return "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
    return ""
