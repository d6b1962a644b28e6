"""A real in-process server whose one method does what the test wants."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import grpc
import pytest
import structlog
from grpc_health.v1 import health_pb2

from remembrancer.runtime.interceptors import Interceptor
from remembrancer.runtime.server import options

METHOD = "/test.Service/Call"
Behaviour = Callable[[Any, Any], Any]
Call = Callable[..., Awaitable[Any]]


class OneMethod(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour

    def service(self, details: Any) -> Any:
        if details.method == METHOD:
            return grpc.unary_unary_rpc_method_handler(
                self.behaviour,
                request_deserializer=health_pb2.HealthCheckRequest.FromString,
                response_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            )
        if details.method == METHOD + "Stream":
            return grpc.unary_stream_rpc_method_handler(
                self.behaviour,
                request_deserializer=health_pb2.HealthCheckRequest.FromString,
                response_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            )
        return None


class Bench:
    """Serves one behaviour behind interceptors and calls it with raw bytes or messages."""

    def __init__(self) -> None:
        self._open: list[Any] = []
        self.channel: Any = None

    async def serve(self, behaviour: Behaviour, interceptors: list[Interceptor]) -> str:
        server = grpc.aio.server(interceptors=interceptors, options=options(60))
        server.add_generic_rpc_handlers((OneMethod(behaviour),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        self.server = server
        self.address = f"127.0.0.1:{port}"
        self.channel = grpc.aio.insecure_channel(self.address)
        self._open.append((server, self.channel))
        return self.address

    def call(self, request: Any = None, **options: Any) -> Any:
        raw = (
            request if isinstance(request, bytes) else (request or health_pb2.HealthCheckRequest()).SerializeToString()
        )
        return self.channel.unary_unary(METHOD)(raw, **options)

    def stream(self, **options: Any) -> Any:
        return self.channel.unary_stream(METHOD + "Stream")(b"", **options)

    async def failure(self, request: Any = None, **options: Any) -> grpc.aio.AioRpcError:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.call(request, **options)
        return caught.value

    async def close(self) -> None:
        for server, channel in self._open:
            await channel.close()
            await server.stop(0)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.close()


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """Undo what a test configures: logging is global, and other tests run in the same process."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    structlog.reset_defaults()
    root.setLevel(level)
    root.handlers[:] = handlers
