"""F15: every non-OK status of every RPC carries exactly one ErrorInfo and the details of its code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import code_pb2, error_details_pb2, status_pb2

from remembrancer.cli.local.plan import Role
from remembrancer.v1 import errors_pb2
from tests.contract.catalogue import RPCS, Rpc
from tests.contract.fields import BOOL, BYTES, COUNTS, ENUM, FLOATS, POSITIONS, STRING, Place, changed, named, places
from tests.contract.requests import World, build
from tests.service import Outage

every_rpc = pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)

DETAILS: dict[int, type[Message]] = {
    code_pb2.INVALID_ARGUMENT: error_details_pb2.BadRequest,
    code_pb2.FAILED_PRECONDITION: error_details_pb2.PreconditionFailure,
    code_pb2.NOT_FOUND: error_details_pb2.ResourceInfo,
    code_pb2.UNAVAILABLE: error_details_pb2.RetryInfo,
    code_pb2.RESOURCE_EXHAUSTED: error_details_pb2.RetryInfo,
}
LEAKS = ("Traceback", 'File "', ".py", "127.0.0.1", "rm:{", "redis", "grpc", "evalsha")
FEEDBACK_ENTRIES = {"memory_feedback", "procedure_feedback", "items"}
"""What is wrong inside one of these is rejected alone, in an OK answer."""

UNBOUNDED = {"external_context[0].content"}
"""Texts without a limit of their own."""


@every_rpc
def test_f15_a_valid_request_made_from_the_descriptor_is_answered(
    rpc: Rpc, channel: grpc.Channel, world: World
) -> None:
    status, answers = rpc.call(channel, build(rpc, world).SerializeToString())
    assert status is None, status
    assert answers


@every_rpc
def test_f15_d27_f14_every_wrong_field_is_refused_and_named(rpc: Rpc, channel: grpc.Channel, world: World) -> None:
    valid = build(rpc, world)
    wrong = []
    for place, value in _defects(valid):
        status, _ = rpc.call(channel, changed(valid, place, value).SerializeToString())
        about = f"{named(place)} = {str(value)[:40]!r}"
        if status is None:
            wrong.append(f"{about} was accepted")
            continue
        check(status)
        named_fields = [v.field for v in _detail(status, error_details_pb2.BadRequest).field_violations]
        if status.code != code_pb2.INVALID_ARGUMENT and not _is_id(place):
            wrong.append(f"{about}: {status.message}")
        elif status.code == code_pb2.INVALID_ARGUMENT and not any(_about(f, place) for f in named_fields):
            wrong.append(f"{about}: names {named_fields}")
    assert not wrong


@every_rpc
def test_f15_a1_a2_every_wrong_scope_is_refused(rpc: Rpc, channel: grpc.Channel, world: World) -> None:
    if "scope" not in rpc.request.DESCRIPTOR.fields_by_name:
        pytest.skip("has no scope")
    valid = build(rpc, world)
    for scope in (None, "", "  ", "\u200b", "alice", "user:", ":x", "user:a\x07b", "user:" + "x" * 252):
        valid.ClearField("scope")
        if scope is not None:
            valid.scope.path = scope
        status, _ = rpc.call(channel, valid.SerializeToString())
        assert status is not None
        check(status)
        assert status.code == code_pb2.INVALID_ARGUMENT
        assert _detail(status, error_details_pb2.BadRequest).field_violations[0].field.startswith("scope")


@every_rpc
@pytest.mark.parametrize(
    "raw", [b"\xff", b"\x0a\x02\xff\xfe", b"\x0a\x0a\x0a\x02\xff\xfe", b"\x0a\xff\xff\xff\xff\x7f"]
)
def test_f15_d3_undecodable_bytes_get_a_clean_status(rpc: Rpc, channel: grpc.Channel, raw: bytes) -> None:
    status, _ = rpc.call(channel, raw)
    assert status is not None
    check(status)
    assert status.code == code_pb2.INVALID_ARGUMENT


def test_f15_with_the_store_down_every_call_says_so_after_its_fields_were_checked(
    channel: grpc.Channel, world: World, killed: Outage
) -> None:
    requests = {rpc: build(rpc, world) for rpc in RPCS}
    with killed(Role.STORE, Role.ACTIVE, Role.DEEP, Role.ENCODER):
        for rpc, request in requests.items():
            status, _ = rpc.call(channel, request.SerializeToString())
            assert status is not None, rpc.name
            check(status)
            assert status.code == code_pb2.UNAVAILABLE, rpc.name
            # A1: what is wrong with a scope is said although nobody could be asked.
            if "scope" in rpc.request.DESCRIPTOR.fields_by_name:
                request.ClearField("scope")
                status, _ = rpc.call(channel, request.SerializeToString())
                assert status is not None
                assert status.code == code_pb2.INVALID_ARGUMENT, rpc.name


def check(status: status_pb2.Status) -> None:
    """Check what the contract says of every status."""
    infos = [d for d in status.details if d.Is(error_details_pb2.ErrorInfo.DESCRIPTOR)]
    assert len(infos) == 1, status
    info = _detail(status, error_details_pb2.ErrorInfo)
    assert info.domain == "remembrancer"
    assert f"ERROR_REASON_{info.reason}" in errors_pb2.ErrorReason.keys()  # noqa: SIM118
    if status.code in DETAILS:
        assert any(d.Is(DETAILS[status.code].DESCRIPTOR) for d in status.details), status
    assert status.ByteSize() < 4096
    text = status.SerializeToString()
    assert not [leak for leak in LEAKS if leak.encode() in text.replace(b"type.googleapis.com", b"")], status


def _defects(valid: Message) -> Iterator[tuple[Place, Any]]:
    for place in places(valid.DESCRIPTOR):
        field = place[-1]
        if place[0].name in FEEDBACK_ENTRIES or place[0].name == "scope":
            continue
        chosen = place[0].containing_oneof and valid.WhichOneof(place[0].containing_oneof.name)
        if chosen and chosen != place[0].name:
            continue
        if field.type == ENUM:
            yield place, 99
        elif field.type == STRING:
            if named(place) not in UNBOUNDED:
                yield place, "x" * 20_000
        elif field.type in COUNTS:
            yield from ((place, number) for number in (-1, 2**31 - 1))
        elif field.type in POSITIONS:
            yield place, -1
        elif field.type in FLOATS:
            yield from ((place, number) for number in (float("nan"), float("inf"), float("-inf"), -0.1, 1.1))
        elif field.message_type is not None and field.message_type.full_name == Timestamp.DESCRIPTOR.full_name:
            yield from ((place, stamp) for stamp in (Timestamp(seconds=253402300800), Timestamp(nanos=-1)))
        else:
            assert field.type in (BOOL, BYTES) or field.message_type is not None, f"what is wrong for {named(place)}?"


def _detail(status: status_pb2.Status, kind: type[Any]) -> Any:
    found = kind()
    for detail in status.details:
        if detail.Is(kind.DESCRIPTOR):
            detail.Unpack(found)
    return found


def _is_id(place: Place) -> bool:
    return place[-1].name.endswith(("_id", "_ids"))


def _about(violation: str, place: Place) -> bool:
    """Return whether a violation names a place, or what stands around it or was made along with it."""
    names = {part.split("[")[0] for part in violation.split(".")}
    return bool(names & {field.name for field in place})
