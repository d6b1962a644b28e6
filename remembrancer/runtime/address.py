"""Addresses that a process listens on: `host:port`, `[ipv6]:port`."""

from __future__ import annotations

import ipaddress


def split(address: str) -> tuple[str, int]:
    """Return host (without brackets) and port (0..65535; 0 = any free one); ValueError when malformed."""
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or not (port.isascii() and port.isdigit()) or (":" in host and not bracketed):
        raise ValueError("is not host:port")
    if int(port) > 65535:
        raise ValueError("has a port above 65535")
    return host[1:-1] if bracketed else host, int(port)


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach the address. Names other than `localhost` count as reachable."""
    host, _ = split(address)
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
