"""What one caller sends does not hold up the others: the gateway's event loop stays free."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from google.protobuf import struct_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.v1 import common_pb2, recall_pb2, recall_pb2_grpc

MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def channel(service: LocalService) -> grpc.Channel:
    return grpc.insecure_channel(service.address, options=[("grpc.max_receive_message_length", 8 << 20)])


def with_context(scope: str, *contents: str) -> recall_pb2.RecallWithContextRequest:
    return recall_pb2.RecallWithContextRequest(
        scope=common_pb2.Scope(tenant=common_pb2.TenantScope(org_id=scope)),
        agent_id="a",
        query="how are you?",
        external_context=[recall_pb2.ContextEntry(role="tool", content=content) for content in contents],
    )


def longest_wait(channel: grpc.Channel, during: Callable[[], object]) -> tuple[float, float]:
    """Return how long something took, and the longest that another caller waited for a health check meanwhile."""
    health = health_pb2_grpc.HealthStub(channel)
    waits: list[float] = []
    done = threading.Event()

    def probe() -> None:
        while not done.is_set():
            began = time.monotonic()
            health.Check(health_pb2.HealthCheckRequest(), timeout=30)
            waits.append(time.monotonic() - began)

    prober = threading.Thread(target=probe)
    prober.start()
    began = time.monotonic()
    try:
        during()
    finally:
        took = time.monotonic() - began
        done.set()
        prober.join()
    return took, max(waits)


@pytest.mark.parametrize("filler", ["!", " ", "a"])
def test_t9_a_megabyte_of_context_does_not_stop_other_callers(channel: grpc.Channel, scope: str, filler: str) -> None:
    recall = recall_pb2_grpc.RecallServiceStub(channel).RecallWithContext
    recall(with_context(scope), timeout=30)
    request = with_context(scope, filler * (MEGABYTE - 4))
    took, waited = longest_wait(channel, lambda: recall(request, timeout=30))
    assert waited < max(0.1, took / 3)


def test_t28_a_context_that_the_tokenizer_cannot_take_is_answered(channel: grpc.Channel, scope: str) -> None:
    recall = recall_pb2_grpc.RecallServiceStub(channel).RecallWithContext
    answer = recall(with_context(scope, " " * 999_999 + "x"), timeout=30)
    assert answer.usage.tokens_in > 1


def test_t9_a_cancelled_count_ends(service: LocalService, channel: grpc.Channel, scope: str) -> None:
    recall = recall_pb2_grpc.RecallServiceStub(channel).RecallWithContext
    recall(with_context(scope), timeout=30)
    calls = [recall.future(with_context(scope, "!" * (MEGABYTE - 4)), timeout=30) for _ in range(10)]
    time.sleep(0.5)
    assert not any(call.done() for call in calls)
    for call in calls:
        call.cancel()  # type: ignore[no-untyped-call]
    time.sleep(0.1)
    before = cpu_seconds(service, Role.GATEWAY)
    time.sleep(0.5)
    # All ten together are more than five seconds of work.
    assert cpu_seconds(service, Role.GATEWAY) - before < 0.25


@pytest.mark.parametrize("field", ["kinds", "task_context"])
def test_t9_what_will_be_refused_is_refused_soon(channel: grpc.Channel, scope: str, field: str) -> None:
    request = with_context(scope)
    if field == "kinds":
        request.kinds.extend([common_pb2.MEMORY_KIND_TURN] * 4_000_000)
    else:
        many = struct_pb2.ListValue.FromString(b"\x0a\x02\x20\x01" * 2_000_000)
        request.task_context.fields["a"].list_value.CopyFrom(many)
    recall = recall_pb2_grpc.RecallServiceStub(channel).RecallWithContext

    def refused() -> None:
        with pytest.raises(grpc.RpcError) as caught:
            recall(request, timeout=30)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert str(caught.value.details()).startswith(field)

    _, waited = longest_wait(channel, refused)
    assert waited < 1


def cpu_seconds(service: LocalService, role: Role) -> float:
    child, _ = service.supervisor.children()[role]
    assert child.identity is not None
    fields = Path(f"/proc/{child.identity.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
