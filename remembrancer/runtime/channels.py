"""Channels between processes: long-lived, quick to come back, with the shared token on every call.

The token is added by a thin channel, not by an interceptor: grpc.aio runs intercepted calls in a task of their own,
and a cancellation that hits that task does not reliably reach the call.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import grpc
from pydantic import SecretStr

from remembrancer.runtime.interceptors import request_id
from remembrancer.runtime.interceptors.auth import authorization
from remembrancer.runtime.limits import MAX_METADATA, MAX_RECEIVE, MAX_SEND

OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.max_send_message_length", MAX_RECEIVE),
    ("grpc.max_receive_message_length", MAX_SEND),
    ("grpc.max_metadata_size", MAX_METADATA),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 250),
    ("grpc.min_reconnect_backoff_ms", 2_000),  # despite its name: how long one attempt may take on a busy machine
    ("grpc.enable_retries", 0),  # callers decide by deadline and kind of call
    ("grpc.use_local_subchannel_pool", 1),  # channels to one address back off separately
    ("grpc.enable_http_proxy", 0),  # workers are never behind one, whatever the environment says
)


def open_channel(target: str, token: SecretStr | None) -> RenewableChannel:
    """Return a plaintext channel to a process of this service, which proves itself with `token` if there is one.

    Requests up to 16 MiB, answers up to 8 MiB. It connects at the first call and
    reconnects within about a quarter of a second.
    """
    return _Channel(target, token)


def open_blocking_channel(target: str) -> grpc.Channel:
    """Return a plaintext channel for code without an event loop, with the same options and without a token."""
    return grpc.insecure_channel(target, options=OPTIONS)


class RenewableChannel(grpc.aio.Channel):
    """A channel whose connection can be made anew.

    gRPC waits up to two minutes between looks for a name that did not resolve, and has no way to be told to look again.
    A fresh connection looks at once.
    """

    @abstractmethod
    async def renew(self) -> None:
        """Let further calls use a fresh connection; those under way end as cancelled."""


class _Channel(RenewableChannel):
    """A channel whose calls carry the token and the id of the call that is being handled."""

    def __init__(self, target: str, token: SecretStr | None) -> None:
        self._target = target
        self._fixed = () if token is None else (authorization(token),)
        self._channel = grpc.aio.insecure_channel(target, options=OPTIONS)
        self._callables: dict[str, Any] = {}

    async def renew(self) -> None:
        old, self._channel = self._channel, grpc.aio.insecure_channel(self._target, options=OPTIONS)
        self._callables.clear()
        await old.close(None)

    def _multicallable(self, kind: str, method: str, *args: Any, **kwargs: Any) -> Any:
        def call(request: Any, *, metadata: Any = None, **options: Any) -> Any:
            inner = self._callables.get(method)
            if inner is None:
                inner = self._callables[method] = getattr(self._channel, kind)(method, *args, **kwargs)
            current = request_id.current()
            added = self._fixed if current is None else (*self._fixed, (request_id.METADATA_KEY, current))
            return inner(request, metadata=(*(metadata or ()), *added), **options)

        return call

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._multicallable("unary_unary", method, *args, **kwargs)

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._multicallable("unary_stream", method, *args, **kwargs)

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._multicallable("stream_unary", method, *args, **kwargs)

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._multicallable("stream_stream", method, *args, **kwargs)

    async def close(self, grace: float | None = None) -> None:
        await self._channel.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self._channel.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self._channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._channel.channel_ready()

    async def __aenter__(self) -> grpc.aio.Channel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
