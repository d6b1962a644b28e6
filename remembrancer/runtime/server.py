"""The life of a server process: listen, become ready, serve, drain, stop."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

import grpc
import structlog
import uvloop
from grpc_health.v1 import health_pb2_grpc

from remembrancer.runtime import address
from remembrancer.runtime.health import Health, HealthCheck
from remembrancer.runtime.interceptors import Interceptor
from remembrancer.runtime.limits import MAX_METADATA, MAX_RECEIVE, MAX_SEND
from remembrancer.runtime.refusal import StartRefused
from remembrancer.runtime.settings import ProcessSettings

AGE_INSIDE = 45.0
"""Seconds a connection between processes lives, so that new workers get their share of calls soon."""

AGE_GRACE = 90.0
"""Seconds that calls on an aged connection may still take; longer than the longest default deadline (60 s)."""


def options(connection_age: float) -> list[tuple[str, int]]:
    """Return the options of a server whose connections live about `connection_age` seconds."""
    return [
        ("grpc.max_receive_message_length", MAX_RECEIVE),
        ("grpc.max_send_message_length", MAX_SEND),
        ("grpc.max_metadata_size", MAX_METADATA),
        # Clients that ping every 10 s, even without calls, are welcome; the default would send them away.
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        # Dead peers are noticed, so that their calls stop costing.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.max_connection_age_ms", int(connection_age * 1000)),
        ("grpc.max_connection_age_grace_ms", int(AGE_GRACE * 1000)),
        # A second process on the same port is a mistake and must fail, not take half of the calls.
        ("grpc.so_reuseport", 0),
    ]


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a process to its end on uvloop; a refused start prints its one line to stderr and exits with its code."""
    try:
        uvloop.run(main())
    except StartRefused as refusal:
        print(refusal, file=sys.stderr)  # noqa: T201  (a line for the operator, whatever the log's format)
        raise SystemExit(refusal.code) from None


async def serve(
    settings: ProcessSettings,
    *,
    name: str,
    services: Mapping[str, HealthCheck | None],
    register: Callable[[grpc.aio.Server], None],
    ready: Callable[[], Awaitable[object]],
    interceptors: Sequence[Interceptor],
    background: Sequence[Callable[[], Awaitable[None]]] = (),
    connection_age: float = AGE_INSIDE,
) -> None:
    """Serve until SIGTERM or SIGINT; return when all calls have ended or `settings.grace` is over.

    `register` adds the servicers; `ready` returns once the process can work (it may wait as long as it must; until
    then health says NOT_SERVING); `services` names the services and their health checks; `background` runs beside the
    server, and if one of it ends or fails, so does the process, since nobody would notice its absence otherwise.
    Raises StartRefused when an address cannot be used, when `ready` does, or when something in the background failed.
    """
    log = structlog.get_logger()
    health = Health(services)
    server = grpc.aio.server(interceptors=list(interceptors), options=options(connection_age))
    register(server)
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    ops = grpc.aio.server(options=options(connection_age))
    health_pb2_grpc.add_HealthServicer_to_server(health, ops)
    listening = bind(server, settings.listen)
    ops_listening = bind(ops, settings.ops_listen)

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)

    await ops.start()
    await server.start()
    log.info("listening", name=name, address=listening, ops=ops_listening)
    try:
        await _until_stopped(stop, health, ready, background, log)
    finally:
        log.info("stopping", grace=settings.grace)
        await health.stop_serving()
        await asyncio.sleep(settings.drain)
        health.close()
        await server.stop(settings.grace)
        await ops.stop(0)
        log.info("stopped")


def bind(server: grpc.aio.Server, wanted: str) -> str:
    """Bind an address and return the actual one, `host:port`; StartRefused when it cannot be had."""
    host, port = address.split(wanted)
    shown = f"[{host}]" if ":" in host else host
    try:
        actual = server.add_insecure_port(f"{shown}:{port}")
    except RuntimeError:
        actual = 0
    if not actual:
        raise StartRefused(
            f"cannot listen on {wanted}: the address is in use, is not of this machine, or needs a privilege"
        )
    return f"{shown}:{actual}"


async def _until_stopped(
    stop: asyncio.Event,
    health: Health,
    ready: Callable[[], Awaitable[object]],
    background: Sequence[Callable[[], Awaitable[None]]],
    log: Any,
) -> None:
    async def start() -> None:
        await ready()
        await health.started()
        log.info("ready")
        await health.keep_checking()

    stopped = asyncio.ensure_future(stop.wait())
    tasks = [asyncio.ensure_future(each()) for each in (start, *background)]
    try:
        done, _ = await asyncio.wait((stopped, *tasks), return_when=asyncio.FIRST_COMPLETED)
        for task in done - {stopped}:
            error = task.exception()
            if isinstance(error, StartRefused):
                raise error
            log.error("a task that must not end has ended", exc_info=error)
            raise StartRefused("an internal task has ended; see the log")
    finally:
        for task in (stopped, *tasks):
            task.cancel()
        await asyncio.gather(stopped, *tasks, return_exceptions=True)
