"""A valid request for any RPC, filled from its descriptor: required fields by their names."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from google.api import field_behavior_pb2
from google.protobuf.message import Message

from remembrancer.client import Client, memory, memory_feedback, procedure_feedback, turn
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2, transfer_pb2
from tests.contract.catalogue import Rpc

TEXT = "The lamp in the hall needs a new bulb."


class World:
    """A scope with memories of every kind, and what calls about it need. Every text in it holds `mark`."""

    def __init__(self, client: Client, scope: str, mark: str = "") -> None:
        """Fill the scope: statements, turns, and a session with feedback, an episode and a procedure."""
        self.client, self.scope = client, scope
        self.text = f"{TEXT} {mark}".strip()
        self.axes = dict.fromkeys(("user_id", "conversation_id", "channel", "source_id", "project_id"), f"only-{scope}")
        written = client.remember([memory("fact", self.text), memory("warning", f"Mind the step. {mark}")], scope=scope)
        client.remember([memory("fact", f"The hall is long. {mark}")], scope=scope, axes=self.axes)
        turns = [turn(self.text, name=f"Ann {mark}", role="user", msg_id=f"{mark}1"), turn(f"It is. {mark}", name="Bo")]
        client.record_turns(turns, scope=scope, axes={"conversation_id": "c"})
        self.memory_id = written.results[0].memory_id
        session = self.session(f"Change the bulb {mark}")
        found = client.recall(
            self.text, scope=scope, session_id=session, task_context={"room": f"hall {mark}"}, mode="deep"
        )
        best = found.hits.observations[0].memory_id
        client.feedback(
            found.retrieval_id,
            memory_feedback=[memory_feedback(best, "used", effect="helped", reason=f"it named the lamp {mark}")],
            remaining="not_used",
            coverage="complete",
            missing=[f"the bulb's size {mark}"],
        )
        client.commit(
            session,
            scope=scope,
            final_goal=f"Change the bulb in the hall {mark}",
            outcome="success",
            outcome_summary=f"It shines. {mark}",
            procedure=session_pb2.ProcedureInput(
                summary=f"Change the bulb of the lamp in the hall {mark}",
                steps=[recall_pb2.ProcedureStep(summary=f"Take the ladder {mark}")],
                caveats=[f"Switch it off first {mark}"],
            ),
        )

    def session(self, task: str = "") -> str:
        """Return an open session whose activation is covered."""
        task = task or self.text
        opened = self.client.activate(task, task, scope=self.scope)
        unused = [procedure_feedback(procedure.procedure_id, "not_used") for procedure in opened.procedures]
        self.client.feedback(opened.retrieval_id, procedure_feedback=unused, remaining="not_used", coverage="complete")
        return opened.session_id

    def memory(self) -> str:
        """Return a memory that nothing was done to yet."""
        text = f"{self.text} It is number {uuid.uuid4()}."
        written = self.client.remember([memory("fact", text)], scope=self.scope, session_key="never paused")
        return written.results[0].memory_id

    def retrieval(self) -> str:
        """Return a retrieval that waits for feedback."""
        return self.client.recall(TEXT, scope=self.scope, session_id=self.session()).retrieval_id


RULES: dict[str, Callable[[World], Any]] = {
    "scope": lambda world: common_pb2.Scope(path=world.scope),
    "session_id": lambda world: world.session(),
    "retrieval_id": lambda world: world.retrieval(),
    "memory_id": lambda world: world.memory(),
    "memory_ids": lambda world: [world.memory()],
    "start": lambda _: transfer_pb2.ImportStart(
        scope=common_pb2.Scope(path=f"import:{uuid.uuid4()}"),
        import_id="1",
        header=transfer_pb2.TransferHeader(format=1, scope="import:old"),
    ),
    **dict.fromkeys(
        ("query", "task", "initial_goal", "final_goal", "outcome_summary", "content", "summary", "agent_id"),
        lambda world: world.text,
    ),
}
"""Values by field name: for required fields, for one field of a oneof, and for those in ALWAYS."""

ALWAYS = {"session_id", "retrieval_id"}
"""Fields that are required in fact, though a call may name another one in their place."""


def build(rpc: Rpc, world: World) -> Any:
    """Return a valid request about a world. The test fails when a required field has no rule: then write one."""
    request = rpc.request()
    _fill(rpc, request, world)
    return request


def _fill(rpc: Rpc, message: Message, world: World) -> None:
    for field in message.DESCRIPTOR.fields:
        if field.containing_oneof is None and (_required(field) or field.name in ALWAYS):
            _set(rpc, message, field, world)
    for oneof in message.DESCRIPTOR.oneofs:
        fields: list[Any] = list(oneof.fields)
        if len(fields) == 1:  # an optional field
            chosen = fields if _required(fields[0]) else []
        else:
            chosen = [field for field in fields if field.name in RULES]
            if not chosen:
                _unknown(rpc, message.DESCRIPTOR.full_name, oneof.name)
        for field in chosen[:1]:
            _set(rpc, message, field, world)


def _set(rpc: Rpc, message: Message, field: Any, world: World) -> None:
    if field.name in RULES:
        value = RULES[field.name](world)
    elif field.enum_type is not None:
        value = field.enum_type.values[1].number
    elif field.message_type is not None:
        child = getattr(message, field.name)
        child = child.add() if field.is_repeated else child
        child.SetInParent()
        _fill(rpc, child, world)
        return
    else:
        _unknown(rpc, message.DESCRIPTOR.full_name, field.name)
    if isinstance(value, Message):
        getattr(message, field.name).CopyFrom(value)
    elif field.is_repeated:
        getattr(message, field.name).extend(value)
    else:
        setattr(message, field.name, value)


def _required(field: Any) -> bool:
    return field_behavior_pb2.REQUIRED in field.GetOptions().Extensions[field_behavior_pb2.field_behavior]


def _unknown(rpc: Rpc, message: str, name: str) -> None:
    pytest.fail(f"{rpc.name}: no rule for {name} of {message}; add one to tests/contract/requests.py")
