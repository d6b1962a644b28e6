import asyncio
import json
import logging
import time
from io import StringIO
from typing import Any

import grpc
import pytest
import structlog
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2
from pydantic import SecretStr

from remembrancer.model.errors import RemembrancerError, SessionNotFound, StoreUnavailable
from remembrancer.runtime import channels, deadline, logs
from remembrancer.runtime.interceptors import Admission, Errors, WorkerToken, chain, request_id
from remembrancer.runtime.settings import ProcessSettings
from remembrancer.runtime.status import reason_of, status_of
from tests.unit.runtime.conftest import METHOD, Bench, OneMethod

TOKEN = SecretStr("0123456789abcdef")


async def echo(request: Any, context: Any) -> Any:
    return request


def infos(error: grpc.aio.AioRpcError) -> int:
    status = status_of(error)
    assert status is not None
    return sum(d.Is(error_details_pb2.ErrorInfo.DESCRIPTOR) for d in status.details)


class Panic(BaseException):
    """As a library in Rust raises it."""


def raising(error: BaseException) -> Any:
    async def behaviour(request: Any, context: Any) -> Any:
        raise error

    return behaviour


async def test_a_request_passes_through_unchanged(bench: Bench) -> None:
    await bench.serve(echo, chain(max_in_flight=2))
    sent = health_pb2.HealthCheckRequest(service="日本 \x00 x")
    assert health_pb2.HealthCheckRequest.FromString(await bench.call(sent)) == sent


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (SessionNotFound("s"), grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND"),
        (StoreUnavailable("gone"), grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE"),
        (ValueError("secret text"), grpc.StatusCode.INTERNAL, "INTERNAL"),
        (TimeoutError(), grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE"),
        (Panic("secret text"), grpc.StatusCode.INTERNAL, "INTERNAL"),  # T28
        (BaseExceptionGroup("secret text", [Panic()]), grpc.StatusCode.INTERNAL, "INTERNAL"),
    ],
)
async def test_exceptions_become_a_status_with_one_error_info(
    bench: Bench, error: BaseException, code: grpc.StatusCode, reason: str
) -> None:
    await bench.serve(raising(error), chain(max_in_flight=2))
    failure = await bench.failure(timeout=5)
    assert (failure.code(), reason_of(failure), infos(failure)) == (code, reason, 1)
    assert "secret" not in (failure.details() or "")


async def test_an_unexpected_error_is_logged_without_what_it_quotes(bench: Bench) -> None:
    lines = StringIO()
    logs.configure(Settings(log_format="json"), "test", lines)
    await bench.serve(raising(ValueError("what the user wrote")), chain(max_in_flight=2))
    await bench.failure(metadata=(("x-request-id", "req-7"),))
    line = json.loads(lines.getvalue().splitlines()[-1])
    assert (line["error"], line["request_id"], line["method"]) == ("ValueError", "req-7", METHOD)
    assert any("test_interceptors" in frame for frame in line["frames"])
    assert "what the user wrote" not in lines.getvalue()


class Settings(ProcessSettings):
    listen: str = "127.0.0.1:0"
    ops_listen: str = "127.0.0.1:0"


async def test_undecodable_bytes_name_the_field(bench: Bench) -> None:
    await bench.serve(echo, chain(max_in_flight=2))
    failure = await bench.failure(b"\x0a\xff\xff")
    assert (failure.code(), reason_of(failure), infos(failure)) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "FIELD_INVALID",
        1,
    )


async def test_g3_a_cancellation_inside_the_handler_still_gives_the_caller_a_status(bench: Bench) -> None:
    await bench.serve(raising(asyncio.CancelledError()), chain(max_in_flight=2))
    failure = await asyncio.wait_for(bench.failure(), 1)
    assert (failure.code(), reason_of(failure)) == (grpc.StatusCode.CANCELLED, "CANCELLED")


async def test_a_callers_cancellation_reaches_the_handler(bench: Bench) -> None:
    ended = asyncio.Event()
    begun = asyncio.Event()

    async def slow(request: Any, context: Any) -> Any:
        begun.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.set()
            raise

    await bench.serve(slow, chain(max_in_flight=2))
    call = bench.call()
    await asyncio.wait_for(begun.wait(), 2)
    call.cancel()
    await asyncio.wait_for(ended.wait(), 2)


async def test_the_default_deadline_counts_when_the_caller_set_none(bench: Bench) -> None:
    seen: list[float] = []

    async def slow(request: Any, context: Any) -> Any:
        seen.append(deadline.remaining(context))
        await asyncio.sleep(30)

    await bench.serve(slow, chain(max_in_flight=2, default_deadline=30, deadlines={METHOD: 0.2}))
    started = time.monotonic()
    failure = await bench.failure()
    assert (failure.code(), reason_of(failure)) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE")
    assert time.monotonic() - started < 2
    assert 0 < seen[0] <= 0.2


async def test_the_callers_own_deadline_wins_over_the_default(bench: Bench) -> None:
    seen: list[float] = []

    async def look(request: Any, context: Any) -> Any:
        seen.append(deadline.remaining(context))
        return request

    await bench.serve(look, chain(max_in_flight=2, default_deadline=1))
    await bench.call(timeout=20)
    assert 15 < seen[0] < 21


async def test_calls_beyond_the_limit_are_refused_and_room_is_given_back(bench: Bench) -> None:
    release = asyncio.Event()

    async def wait(request: Any, context: Any) -> Any:
        await release.wait()
        return request

    admission = Admission(2, 1)
    await bench.serve(wait, [Errors(), admission])
    held = [asyncio.ensure_future(bench.call()) for _ in range(2)]
    async with asyncio.timeout(2):
        while admission.in_flight[False] < 2:  # noqa: ASYNC110  (the server has no event for it)
            await asyncio.sleep(0.01)
    failure = await bench.failure()
    assert (failure.code(), reason_of(failure)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    status = status_of(failure)
    assert status is not None
    assert any(d.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for d in status.details)
    release.set()
    await asyncio.gather(*held)
    assert admission.in_flight == {False: 0, True: 0}
    await bench.call()


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ((), "CREDENTIALS_MISSING"),
        ((("authorization", ""),), "CREDENTIALS_INVALID"),
        ((("authorization", "Bearer "),), "CREDENTIALS_INVALID"),
        ((("authorization", "Bearer 0123456789abcdeF"),), "CREDENTIALS_INVALID"),
        ((("authorization", TOKEN.get_secret_value()),), "CREDENTIALS_INVALID"),
        (
            (("authorization", "Bearer 0123456789abcdef"), ("authorization", "Bearer 0123456789abcdef")),
            "CREDENTIALS_INVALID",
        ),
    ],
)
async def test_g20_only_the_token_opens(bench: Bench, metadata: Any, reason: str) -> None:
    await bench.serve(echo, chain(max_in_flight=2, auth=[WorkerToken(TOKEN)]))
    failure = await bench.failure(b"\x0a\xff\xff", metadata=metadata)
    assert (failure.code(), reason_of(failure), infos(failure)) == (grpc.StatusCode.UNAUTHENTICATED, reason, 1)


@pytest.mark.parametrize("value", ["Bearer schlüssel", "Bearer \udcff\udcfe", b"Bearer \xff\xfe"])
async def test_g20_a_token_that_is_not_ascii_is_just_wrong(value: str | bytes) -> None:
    class Context:
        def invocation_metadata(self) -> Any:
            return (("authorization", value),)

    with pytest.raises(RemembrancerError) as caught:
        async with WorkerToken(TOKEN).around(None, Context()):  # type: ignore[arg-type]
            pass
    assert type(caught.value).__name__ == "CredentialsInvalid"


async def test_our_channels_send_the_token_and_the_request_id(bench: Bench) -> None:
    seen: list[str | None] = []

    async def look(request: Any, context: Any) -> Any:
        seen.append(request_id.current())
        return request

    address = await bench.serve(look, chain(max_in_flight=2, auth=[WorkerToken(TOKEN)]))
    async with channels.open_channel(address, TOKEN) as channel:
        with structlog.contextvars.bound_contextvars(request_id="abc-1"):
            await channel.unary_unary(METHOD, None, None)(b"")
        await channel.unary_unary(METHOD, None, None)(b"")
    assert seen[0] == "abc-1"
    assert seen[1] not in (None, "abc-1")


async def test_g5_cancelling_a_call_on_our_channel_cancels_the_handler(bench: Bench) -> None:
    ended, begun = asyncio.Event(), asyncio.Event()

    async def slow(request: Any, context: Any) -> Any:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    address = await bench.serve(slow, chain(max_in_flight=2, auth=[WorkerToken(TOKEN)]))
    async with channels.open_channel(address, TOKEN) as channel:

        async def caller() -> None:
            await channel.unary_unary(METHOD, None, None)(b"")

        task = asyncio.ensure_future(caller())
        await asyncio.wait_for(begun.wait(), 2)
        task.cancel()
        await asyncio.wait_for(ended.wait(), 2)
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_streams_work_behind_all_interceptors(bench: Bench) -> None:
    async def three(request: Any, context: Any) -> Any:
        for _ in range(3):
            yield health_pb2.HealthCheckRequest(service="x")
        raise SessionNotFound("s")

    await bench.serve(three, chain(max_in_flight=2))
    stream = bench.stream()
    for _ in range(3):
        assert await stream.read() == health_pb2.HealthCheckRequest(service="x").SerializeToString()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stream.read()
    assert reason_of(caught.value) == "SESSION_NOT_FOUND"


async def test_a_restarted_server_is_reached_again_within_about_a_second(bench: Bench) -> None:
    address = await bench.serve(echo, chain(max_in_flight=2))
    async with channels.open_channel(address, None) as channel:
        call = channel.unary_unary(METHOD, None, None)
        await call(b"")
        await bench.server.stop(0)
        with pytest.raises(grpc.aio.AioRpcError):
            await call(b"")
        await asyncio.sleep(1)
        again = grpc.aio.server(interceptors=chain(max_in_flight=2))
        again.add_generic_rpc_handlers((OneMethod(echo),))
        again.add_insecure_port(address)
        await again.start()
        started = time.monotonic()
        await call(b"", timeout=5, wait_for_ready=True)
        assert time.monotonic() - started < 2
        await again.stop(0)


async def test_lines_of_libraries_are_json_too_and_keep_the_request_id() -> None:
    lines = StringIO()
    logs.configure(Settings(log_format="json"), "test", lines)
    with structlog.contextvars.bound_contextvars(request_id="r1"):
        logging.getLogger("some.library").warning("odd %s", "thing")
        logging.getLogger("some.library").info("not shown")
    (line,) = [json.loads(text) for text in lines.getvalue().splitlines()]
    assert (line["event"], line["level"], line["process"], line["request_id"]) == ("odd thing", "warning", "test", "r1")
