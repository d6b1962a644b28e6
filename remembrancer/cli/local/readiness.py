"""Asks a process whether it is ready."""

from __future__ import annotations

import grpc
import redis
from grpc_health.v1 import health_pb2, health_pb2_grpc
from redis.backoff import NoBackoff
from redis.retry import Retry

from remembrancer.runtime.channels import open_blocking_channel


def is_ready(probe: str, timeout: float = 1.0) -> bool:
    """Return whether the process behind a Redis URL or a health address answers and says that it is ready."""
    return _store_ready(probe, timeout) if probe.startswith("redis://") else _health_serving(probe, timeout)


def _store_ready(url: str, timeout: float) -> bool:
    once = Retry(NoBackoff(), 0)
    client = redis.Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=once)
    try:
        return bool(client.ping())
    except (redis.ConnectionError, redis.TimeoutError):  # BusyLoadingError included: it is still reading its file
        return False
    finally:
        client.close()


def _health_serving(address: str, timeout: float) -> bool:
    # A new channel each time: an old one would sit out the back-off after a refused connection.
    with open_blocking_channel(address) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(service=""), timeout=timeout
            )
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
