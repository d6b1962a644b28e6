"""An environment whose proxies do not answer."""

from __future__ import annotations

import pytest

DEAD = "http://127.0.0.1:9"
"""The discard port: nothing listens there."""


def set_dead_proxies(patch: pytest.MonkeyPatch) -> None:
    """Name dead proxies in every variable that gRPC, curl and Python read, with no exceptions from them."""
    for name in ("http_proxy", "https_proxy", "grpc_proxy", "all_proxy"):
        patch.setenv(name, DEAD)
        patch.setenv(name.upper(), DEAD)
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        patch.delenv(name, raising=False)
