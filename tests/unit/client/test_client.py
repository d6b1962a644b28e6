"""Both clients against a real server."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf import duration_pb2
from google.rpc import error_details_pb2, status_pb2

from remembrancer.client import (
    AsyncClient,
    Client,
    ClientError,
    DeadlineExceeded,
    FeedbackIncompleteError,
    FeedbackRejectedError,
    InternalError,
    InvalidArgument,
    NotConnected,
    NotFound,
    ResourceExhausted,
    Unavailable,
    reason_of,
    session_calls,
)
from remembrancer.client.config import Connection, default_target, is_loopback, service_config
from remembrancer.client.errors import check_coverage
from remembrancer.v1 import errors_pb2, recall_pb2, session_pb2
from tests.unit.client.conftest import Script, refuse, serve
from tests.unit.client.test_arguments import FUNCTIONS


def info(reason: str, domain: str = "remembrancer", **metadata: str) -> error_details_pb2.ErrorInfo:
    return error_details_pb2.ErrorInfo(domain=domain, reason=reason, metadata=metadata)


def call_sync(script: Script, attempts: int = 1, timeout: float = 5.0) -> recall_pb2.RecallResponse:
    with Client.connect(script.address, attempts=attempts) as client:
        return client.recall("q", scope="a:b", timeout=timeout)


async def call_async(
    script: Script,
    attempts: int = 1,
    timeout: float = 5.0,  # noqa: ASYNC109
) -> recall_pb2.RecallResponse:
    async with AsyncClient.connect(script.address, attempts=attempts) as client:
        return await client.recall("q", scope="a:b", timeout=timeout)


def failure(script: Script, *, use_async: bool) -> ClientError:
    with pytest.raises(ClientError) as caught:
        asyncio.run(call_async(script)) if use_async else call_sync(script)
    return caught.value


both = pytest.mark.parametrize("use_async", [False, True], ids=["sync", "async"])


@both
def test_an_answer_comes_back(script: Script, use_async: bool) -> None:
    answer = asyncio.run(call_async(script)) if use_async else call_sync(script)
    assert answer.retrieval_id == "r-1"
    assert script.requests[0].query == "q"  # type: ignore[attr-defined]


@both
def test_wrong_fields_are_named(script: Script, use_async: bool) -> None:
    violation = error_details_pb2.BadRequest.FieldViolation(field="top_k", description="must be 1..50")
    script.answer = refuse(
        grpc.StatusCode.INVALID_ARGUMENT,
        "top_k: must be 1..50",
        info("FIELD_INVALID", field="top_k"),
        error_details_pb2.BadRequest(field_violations=[violation]),
    )
    error = failure(script, use_async=use_async)
    assert isinstance(error, InvalidArgument)
    assert error.reason == "FIELD_INVALID"
    assert error.metadata == {"field": "top_k"}
    assert [(v.field, v.description) for v in error.violations] == [("top_k", "must be 1..50")]
    assert error.retry_after is None
    assert "top_k: must be 1..50" in str(error)


@both
def test_a_wait_is_told_in_seconds(script: Script, use_async: bool) -> None:
    delay = duration_pb2.Duration(seconds=1, nanos=500_000_000)
    script.answer = refuse(
        grpc.StatusCode.RESOURCE_EXHAUSTED, "busy", info("OVERLOADED"), error_details_pb2.RetryInfo(retry_delay=delay)
    )
    error = failure(script, use_async=use_async)
    assert isinstance(error, ResourceExhausted)
    assert error.retry_after == 1.5


@both
def test_a_refused_commit_lists_what_is_missing(script: Script, use_async: bool) -> None:
    detail = errors_pb2.FeedbackIncomplete(
        retrievals=[errors_pb2.UncoveredRetrieval(retrieval_id="r-1", outstanding=["sch_1"], outstanding_count=1)],
        total=1,
    )
    script.answer = refuse(
        grpc.StatusCode.FAILED_PRECONDITION, "1 retrievals are not covered", info("FEEDBACK_INCOMPLETE"), detail
    )
    error = failure(script, use_async=use_async)
    assert isinstance(error, FeedbackIncompleteError)
    assert error.feedback_incomplete == detail


def test_a_status_of_somebody_else_has_no_reason(script: Script) -> None:
    script.answer = refuse(grpc.StatusCode.NOT_FOUND, "no such page", info("MISSING", domain="proxy.example"))
    error = failure(script, use_async=False)
    assert isinstance(error, NotFound)
    assert (error.reason, error.message) == ("", "no such page")


def test_a_status_without_details_still_has_its_class(script: Script) -> None:
    def answer(context: grpc.ServicerContext) -> recall_pb2.RecallResponse:
        context.abort(grpc.StatusCode.DATA_LOSS, "hm")

    script.answer = answer
    error = failure(script, use_async=False)
    assert isinstance(error, InternalError)
    assert error.code is grpc.StatusCode.DATA_LOSS


@both
def test_a_late_answer_is_a_deadline_error(script: Script, use_async: bool) -> None:
    def answer(_: grpc.ServicerContext) -> recall_pb2.RecallResponse:
        time.sleep(0.5)
        return recall_pb2.RecallResponse()

    script.answer = answer
    with pytest.raises(DeadlineExceeded):
        asyncio.run(call_async(script, timeout=0.1)) if use_async else call_sync(script, timeout=0.1)


def test_unavailable_is_tried_again_with_the_same_request_id(script: Script) -> None:
    unavailable = refuse(grpc.StatusCode.UNAVAILABLE, "later", info("STORE_UNAVAILABLE"))

    def answer(context: grpc.ServicerContext) -> recall_pb2.RecallResponse:
        if len(script.requests) < 3:
            unavailable(context)
        return recall_pb2.RecallResponse(retrieval_id="r-3")

    script.answer = answer
    assert call_sync(script, attempts=5).retrieval_id == "r-3"
    assert len({request.request_id for request in script.requests}) == 1  # type: ignore[attr-defined]


def test_g12_nothing_but_unavailable_is_tried_again(script: Script) -> None:
    script.answer = refuse(grpc.StatusCode.INTERNAL, "bug", info("INTERNAL"))
    with pytest.raises(InternalError):
        call_sync(script, attempts=5)
    assert len(script.requests) == 1


@both
def test_g12_a_second_of_outage_goes_unnoticed(use_async: bool) -> None:
    scripted = Script(lambda _: recall_pb2.RecallResponse(retrieval_id="r-1"))
    server = serve(scripted)
    server.stop(0).wait()
    revived: list[grpc.Server] = []
    timer = threading.Timer(1.0, lambda: revived.append(serve(scripted, scripted.address)))
    timer.start()
    try:
        answer = asyncio.run(call_async(scripted, attempts=5)) if use_async else call_sync(scripted, attempts=5)
    finally:
        timer.join()
        revived[0].stop(0).wait()
    assert answer.retrieval_id == "r-1"


def test_g12_the_service_config_retries_unavailable_only_and_at_most_five_times() -> None:
    policy = service_config(5)["methodConfig"][0]["retryPolicy"]
    assert policy["maxAttempts"] == 5
    assert policy["retryableStatusCodes"] == ["UNAVAILABLE"]
    with pytest.raises(ValueError, match="attempts"):
        Connection("127.0.0.1:1", attempts=6)


@both
def test_where_nothing_answers_the_error_says_so(use_async: bool) -> None:
    nobody = Script(lambda _: recall_pb2.RecallResponse(), "127.0.0.1:1")
    error = failure(nobody, use_async=use_async)
    assert isinstance(error, NotConnected)
    assert isinstance(error, Unavailable)
    assert (error.reason, error.message) == (
        "",
        "nothing answers at 127.0.0.1:1; is the service up (remembrancer up)?",
    )
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded, match=r"no answer from 127\.0\.0\.1:1 in time"):
        call_sync(nobody, attempts=5, timeout=0.3)
    assert time.monotonic() - began < 1


@both
def test_waiting_for_a_connection_that_never_stands_ends_with_the_same_error(use_async: bool) -> None:
    async def wait() -> None:
        async with AsyncClient.connect("127.0.0.1:1") as client:
            await client.wait_connected(0.1)

    with pytest.raises(NotConnected, match=r"nothing answers at 127\.0\.0\.1:1") as caught:
        asyncio.run(wait()) if use_async else Client.connect("127.0.0.1:1").wait_connected(0.1)
    assert isinstance(caught.value, TimeoutError)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("127.0.0.1", "has no host and port"),
        ("localhost:", "has no host and port"),
        (":7700", "has no host and port"),
        ("localhost:http", "has no host and port"),
        ("localhost:70000", "has no host and port"),
        ("", "has no host and port"),
        ("dns:///memory.example", "has no host and port"),
        ("http://127.0.0.1:7700", "without http://"),
        ("grpc://127.0.0.1:7700", "an address is host:port, such as 127.0.0.1:7700"),
    ],
)
def test_what_is_no_address_is_refused(target: str, message: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match=message):
            kind.connect(target)


def feedback_answer(**result: Any) -> session_pb2.FeedbackResponse:
    return session_pb2.FeedbackResponse(results=[session_pb2.FeedbackResult(retrieval_id="r-1", **result)])


def send_feedback(script: Script, use_async: bool, **arguments: Any) -> session_pb2.FeedbackResponse:
    async def send() -> session_pb2.FeedbackResponse:
        async with AsyncClient.connect(script.address) as client:
            return await client.feedback("r-1", **arguments)

    if use_async:
        return asyncio.run(send())
    with Client.connect(script.address) as client:
        return client.feedback("r-1", **arguments)


@both
def test_feedback_that_was_to_be_complete_and_is_not_is_an_error_with_the_answer(
    script: Script, use_async: bool
) -> None:
    rejected = session_pb2.RejectedFeedback(
        target_id="sch_2", field="memory_feedback[1].effect", hint="HELPED, NO_EFFECT or HARMED"
    )
    answer = feedback_answer(
        coverage=session_pb2.COVERAGE_PARTIAL, accepted=1, rejected=[rejected], outstanding=["sch_2"]
    )
    script.answer = lambda _: answer
    with pytest.raises(FeedbackRejectedError) as caught:
        send_feedback(script, use_async, coverage="complete")
    assert caught.value.response == answer
    assert caught.value.reason == "INCOMPLETE_COVERAGE"
    assert "memory_feedback[1].effect: HELPED, NO_EFFECT or HARMED; not assessed: sch_2" in str(caught.value)
    # Nothing was declared: the answer says what became of it.
    assert send_feedback(script, use_async) == answer
    script.answer = lambda _: feedback_answer(coverage=session_pb2.COVERAGE_COMPLETE)
    assert send_feedback(script, use_async, coverage="complete").results[0].retrieval_id == "r-1"


def test_of_several_retrievals_each_that_was_declared_complete_must_be() -> None:
    def item(coverage: str) -> dict[str, str]:
        return {"retrieval_id": "r", "coverage": coverage}

    request = session_calls.feedback(items=[item("partial"), item("complete")]).request
    partial = session_pb2.FeedbackResult(coverage=session_pb2.COVERAGE_PARTIAL)
    complete = session_pb2.FeedbackResult(coverage=session_pb2.COVERAGE_COMPLETE)
    check_coverage(request, session_pb2.FeedbackResponse(results=[partial, complete]))
    lost = session_pb2.FeedbackResult(retrieval_id="r", error=status_pb2.Status(code=5, message="no such retrieval"))
    with pytest.raises(FeedbackRejectedError, match="r: no such retrieval"):
        check_coverage(request, session_pb2.FeedbackResponse(results=[partial, lost]))


def test_the_token_goes_with_every_call(script: Script) -> None:
    with Client.connect(script.address, token="s3cret") as client:
        client.recall("q", scope="a:b")
    assert script.metadata[0]["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("target", ["memory.example:7700", "10.0.0.5:7700", "dns:///memory.example:7700"])
def test_a_token_is_not_sent_in_plain_text_to_another_machine(target: str) -> None:
    with pytest.raises(ValueError, match="plain text"):
        Client.connect(target, token="s3cret")


@pytest.mark.parametrize(
    "target",
    [
        "127.0.0.1:1",
        "localhost:1",
        "[::1]:1",
        "ipv4:127.0.0.1:1",
        "ipv4:///127.0.0.1:1",
        "ipv6:[::1]:1",
        "dns:localhost:1",
        "dns:///localhost:1",
        "unix:/run/x",
        "unix-abstract:x",
    ],
)
def test_this_machine_is_recognised(target: str) -> None:
    assert is_loopback(target)


@both
@pytest.mark.parametrize("prefix", ["", "dns:///", "ipv4:"])
def test_t31_this_machine_is_never_reached_through_a_proxy(
    script: Script, dead_proxies: None, use_async: bool, prefix: str
) -> None:
    script.address = prefix + script.address
    answer = asyncio.run(call_async(script)) if use_async else call_sync(script)
    assert answer.retrieval_id == "r-1"


def test_t31_other_machines_are_reached_through_the_proxy_of_the_environment() -> None:
    assert "grpc.enable_http_proxy" not in dict(Connection("memory.example:7700").options())


@both
def test_t23_a_client_needs_no_more_than_the_environment_or_an_address(
    script: Script, monkeypatch: pytest.MonkeyPatch, use_async: bool
) -> None:
    kind = AsyncClient if use_async else Client
    assert answered(lambda: kind(script.address))
    monkeypatch.setenv("REMEMBRANCER_TARGET", script.address)
    assert answered(kind.connect)
    monkeypatch.setenv("REMEMBRANCER_TARGET", "nowhere")
    with pytest.raises(ValueError, match=r"REMEMBRANCER_TARGET: 'nowhere' has no host and port"):
        kind.connect()
    monkeypatch.delenv("REMEMBRANCER_TARGET")
    assert default_target() == "127.0.0.1:7700"


def answered(make: Callable[[], Client | AsyncClient]) -> bool:
    async def ask() -> bool:
        # An AsyncClient is made where its event loop runs.
        client = make()
        if isinstance(client, AsyncClient):
            async with client:
                return bool((await client.recall("q", scope="a:b")).retrieval_id)
        with client:
            return bool(client.recall("q", scope="a:b").retrieval_id)

    return asyncio.run(ask())


def test_both_clients_have_the_same_calls_with_their_documentation() -> None:
    for name in (function.__name__ for function in FUNCTIONS.values()):
        one, other = getattr(Client, name), getattr(AsyncClient, name)
        assert inspect.signature(one) == inspect.signature(other)
        assert one.__doc__ == other.__doc__
        assert one.__doc__


def test_a_reason_is_read_from_a_tier_error() -> None:
    status = status_pb2.Status(code=14, message="down")
    assert reason_of(status) == ""
    status.details.add().Pack(info("TIER_UNREACHABLE"))
    assert reason_of(status) == "TIER_UNREACHABLE"


def test_the_client_needs_no_part_of_the_server() -> None:
    program = (
        "import sys, remembrancer.client; "
        "print(sorted(m for m in sys.modules if m.split('.')[0] in "
        "{'numpy', 'redis', 'pydantic', 'faiss', 'rich', 'typer', 'structlog', 'grpc_status', 'psutil'}))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
