"""How the client's channel behaves: retries, balancing, keepalive, credentials."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc

KEEPALIVE_MS = 30_000
MAX_ATTEMPTS = 5
"""What gRPC allows at most."""

TARGET = "REMEMBRANCER_TARGET"
"""The variable with the address that a client connects to when its program names none."""

EXAMPLE = "127.0.0.1:7700"
"""Where the service listens unless it is told otherwise."""

_SCHEME = re.compile("^(dns|ipv4|ipv6):")

ChannelOptions = Sequence[tuple[str, Any]]
CallMetadata = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to connect and how.

    `token` goes with every call; without TLS (`credentials`) it is only sent to this machine. `attempts`, 1..5, bounds
    how often a call is tried while the service is UNAVAILABLE; its deadline bounds all attempts together.
    """

    target: str
    token: str | None = None
    credentials: grpc.ChannelCredentials | None = None
    attempts: int = MAX_ATTEMPTS

    def __post_init__(self) -> None:
        """Refuse what could not work or would give the token away."""
        check_target(self.target)
        if not 1 <= self.attempts <= MAX_ATTEMPTS:
            raise ValueError(f"attempts must be 1..{MAX_ATTEMPTS}")
        if self.token is not None and self.credentials is None and not is_loopback(self.target):
            raise ValueError("a token is sent in plain text only to this machine: pass TLS credentials")

    def options(self) -> ChannelOptions:
        """Return the channel's options."""
        return (
            ("grpc.service_config", json.dumps(service_config(self.attempts))),
            ("grpc.enable_retries", 1),
            ("grpc.keepalive_time_ms", KEEPALIVE_MS),
            ("grpc.keepalive_timeout_ms", 10_000),
            ("grpc.keepalive_permit_without_calls", 1),
            # A service that restarts is back within a second: look again soon.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 2_000),
            # A proxy of the environment cannot reach this machine's own addresses.
            *([("grpc.enable_http_proxy", 0)] if is_loopback(self.target) else []),
        )

    def metadata(self) -> CallMetadata:
        """Return what goes with every call."""
        return () if self.token is None else (("authorization", f"Bearer {self.token}"),)


def service_config(attempts: int) -> dict[str, Any]:
    """Return the gRPC service config: round robin, and retries of UNAVAILABLE only (see AIP-194).

    Five attempts wait .2, .4, .8 and 1.6 seconds in between: a restart of the service goes unnoticed.
    """
    method: dict[str, Any] = {"name": [{}]}
    if attempts > 1:
        method["retryPolicy"] = {
            "maxAttempts": attempts,
            "initialBackoff": "0.2s",
            "maxBackoff": "2s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"],
        }
    return {"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": [method]}


def default_target() -> str:
    """Return the address in REMEMBRANCER_TARGET, else 127.0.0.1:7700. Errors: ValueError when it is no address."""
    target = os.environ.get(TARGET) or EXAMPLE
    try:
        check_target(target)
    except ValueError as error:
        raise ValueError(f"{TARGET}: {error}") from None
    return target


def check_target(target: str) -> None:
    """Refuse what is no address of a gRPC service. Errors: ValueError saying what would be right."""
    scheme, marks, rest = target.rpartition("://")
    if target.startswith(("unix:", "unix-abstract:")):
        return
    if marks and scheme not in ("dns", "ipv4", "ipv6"):
        raise ValueError(f"{target!r}: an address is host:port, such as {EXAMPLE}, without {scheme}://")
    host, _, port = rest.rpartition("/")[2].rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise ValueError(f"{target!r} has no host and port: an address is host:port, such as {EXAMPLE}")


def is_loopback(target: str) -> bool:
    """Say whether a target is this machine."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    host = _SCHEME.sub("", target).rpartition("/")[2].rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
