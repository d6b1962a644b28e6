"""Lists and counts of one scope take no more than its share; other scopes get their turn (T15)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from remembrancer.model.errors import Overloaded
from remembrancer.store.keys import PartitionKeys
from remembrancer.v1 import common_pb2, correction_pb2, listing_pb2, record_pb2
from services.gateway.memories.forgetting.call import forget
from services.gateway.memories.list_memories import list_memories
from services.gateway.memories.scopes import ALL_SCOPES, get_scope, list_scopes
from services.gateway.requests.calls import Call
from services.gateway.search.fairness import PartitionGate

SCOPE = common_pb2.Scope(path="test:busy")
BUSY = PartitionKeys.of("test:busy").partition


class Models:
    async def current(self) -> str:
        return "m"


class Reached(Exception):
    """The call came past the gate."""


class Past:
    def __getattr__(self, name: str) -> Any:
        raise Reached


CALLS: dict[str, tuple[str, str, Callable[[Any, Any], Awaitable[object]]]] = {
    "ListMemories": (BUSY, "list_gate", lambda p, c: list_memories(p, listing_pb2.ListMemoriesRequest(scope=SCOPE), c)),
    "GetScope": (BUSY, "list_gate", lambda p, c: get_scope(p, listing_pb2.GetScopeRequest(scope=SCOPE), c)),
    "ListScopes": (ALL_SCOPES, "list_gate", lambda p, c: list_scopes(p, listing_pb2.ListScopesRequest(), c)),
    "Forget": (
        BUSY,
        "write_gate",
        lambda p, c: forget(
            p,
            correction_pb2.ForgetRequest(
                scope=SCOPE,
                selection=record_pb2.MemorySelection(kinds=[common_pb2.MEMORY_KIND_TURN]),
                request_id="one",
            ),
            c,
        ),
    ),
}


@pytest.mark.parametrize("name", CALLS)
async def test_t15_calls_that_walk_a_scope_wait_their_turn(name: str) -> None:
    partition, which, call = CALLS[name]
    gate = PartitionGate(running=1, waiting=0)
    parts = SimpleNamespace(
        models=Models(), store=Past(), scopes=Past(), operating_context=SimpleNamespace(projects=None), **{which: gate}
    )
    asked = cast("Call", SimpleNamespace(caller="me"))
    async with gate.passed(partition):
        with pytest.raises(Overloaded):
            await call(parts, asked)
    async with gate.passed("another"):
        with pytest.raises(Reached):
            await call(parts, asked)
