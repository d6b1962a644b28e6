"""A marker written in one scope is in no answer about another, whatever the call and its options: for every RPC."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from remembrancer.client import Client
from tests.contract.catalogue import RPCS, Rpc
from tests.contract.fields import BOOL, ENUM, changed, places
from tests.contract.requests import World, build

MARK = "zqxmarkerjvw"

SHOW_TEXTS = {
    "RecallService/Recall",
    "SessionService/Activate",
    "SessionService/GetSession",
    "SessionService/ListSessions",
}
"""Calls that do show the marker in its own scope, so that the test is seen to be able to fail."""


@pytest.fixture(scope="module")
def marked(client: Client) -> World:
    return World(client, f"marked:{uuid.uuid4()}", MARK)


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)
def test_a5_s33_no_answer_about_a_scope_holds_what_another_scope_was_told(
    rpc: Rpc, channel: grpc.Channel, client: Client, marked: World
) -> None:
    world = World(client, f"plain:{uuid.uuid4()}")
    for request in _variants(rpc, world, marked):
        assert MARK not in _everything(rpc, channel, request), request


@pytest.mark.parametrize("rpc", [rpc for rpc in RPCS if rpc.name in SHOW_TEXTS], ids=lambda rpc: rpc.name)
def test_in_its_own_scope_the_marker_is_shown(rpc: Rpc, channel: grpc.Channel, marked: World) -> None:
    assert MARK in _everything(rpc, channel, build(rpc, marked))


@pytest.mark.parametrize("mode", ["active", "deep"])
def test_a5_asking_for_the_marker_itself_finds_nothing_of_it(client: Client, marked: World, mode: str) -> None:
    world = World(client, f"plain:{uuid.uuid4()}")
    for query in (MARK, marked.text, f"Ann {MARK}"):
        answer = client.recall(
            query,
            scope=world.scope,
            session_id=world.session(),
            mode=mode,
            evidence="full",
            include_timeline=True,
            top_k=50,
        )
        assert MARK not in str(answer).lower()
        assert MARK in str(client.recall(query, scope=marked.scope, session_id=marked.session(), mode=mode)).lower()


def _variants(rpc: Rpc, world: World, marked: World) -> Iterator[Message]:
    """Yield requests about `world`: every option on its own, and ids and axes of the marked scope."""
    yield build(rpc, world)
    for place in places(rpc.request.DESCRIPTOR):
        field: Any = place[-1]
        if place[0].name == "scope" or any(step.is_repeated for step in place[:-1]):
            continue
        if field.type == BOOL:
            values: list[object] = [True]
        elif field.type == ENUM:
            values = [value.number for value in field.enum_type.values if value.number]
        elif field.containing_type.name == "Axes":
            values = [marked.axes.get(field.name, "default-agent")]
        elif field.name in ("memory_id", "memory_ids"):
            values = [marked.memory_id]
        elif field.name == "session_id" and "scope" in rpc.request.DESCRIPTOR.fields_by_name:
            values = [marked.session()]
        else:
            continue
        for value in values:
            yield changed(build(rpc, world), place, value)


def _everything(rpc: Rpc, channel: grpc.Channel, request: Message) -> str:
    status, answers = rpc.call(channel, request.SerializeToString())
    return f"{status} {answers}".lower()
