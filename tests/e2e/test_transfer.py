"""Export and Import: what comes out of a scope goes into a new one, unchanged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.client import (
    AsyncClient,
    Client,
    ClientError,
    InvalidArgument,
    PreconditionFailed,
    memory,
    memory_feedback,
    tenant,
    turn,
)
from remembrancer.v1 import recall_pb2, session_pb2, transfer_pb2
from tests.service import OpenSession, Outage, contents, hits

Parts = list[transfer_pb2.ExportResponse]
Fill = Callable[[], Parts]


@pytest.fixture
def filled(client: Client, scope: str, open_session: OpenSession) -> Parts:
    """Return the export of a scope with something of everything in it."""
    client.remember(
        [memory("fact", "Heron is the staging host.", occurred_at=None), memory("task", "Paint the fence.")],
        scope=scope,
        axes={"user_id": "ada", "channel": "c1"},
    )
    client.record_turns(
        [
            turn("Biscuit the greyhound sleeps.", name="Ines", msg_id="m-1", timestamp="2024-03-10T10:00:00+09:00"),
            turn("No date.", name="Odd", timestamp="yesterday"),
        ],
        scope=scope,
        axes={"conversation_id": "c", "agent_id": "scribe"},
    )
    session = open_session()
    answer = session.recall("the staging host")
    client.feedback(
        answer.retrieval_id,
        memory_feedback=[
            memory_feedback("sch_1", "used", effect="helped"),
            memory_feedback("sch_2", "stale", stale_reason="outdated", reason="done"),
        ],
        coverage="complete",
    )
    session.cover(session.opening.retrieval_id)
    client.remember([memory("lesson", "Rinse the brush.")], scope=scope, session_id=session.session_id)
    client.commit(
        session.session_id,
        scope=scope,
        final_goal="paint",
        outcome="success",
        outcome_summary="painted",
        procedure=session_pb2.ProcedureInput(
            summary="paint a fence", steps=[recall_pb2.ProcedureStep(summary=step) for step in ("sand", "paint")]
        ),
    )
    client.forget("sch_5", scope=scope, suppress=True)
    return list(client.export_scope(scope=scope))


def records(parts: Parts) -> list[transfer_pb2.TransferRecord]:
    return [record for part in parts for record in part.batch.records]


def test_export_import_export_is_equal(client: Client, scope: str, filled: Parts, open_session: OpenSession) -> None:
    target = f"{scope}-copy"
    answers = list(client.import_scope(filled, scope=target, import_id="i-1"))
    assert answers[-1].complete
    assert answers[-1].imported == len(records(filled)) == 7
    again = list(client.export_scope(scope=target))
    assert records(again) == records(filled)
    assert all(record.vectors for record in records(again))
    first, second = filled[0].header, again[0].header
    assert (first.scope, second.scope) == (scope, target)
    assert (first.last_number, first.model_id, first.records) == (second.last_number, second.model_id, second.records)

    session = open_session(target)
    found = hits(session.recall("which host is for staging?", "deep"))[0]
    assert found.content == "Heron is the staging host."
    assert found.provenance.origin_scope == scope
    assert contents(session.recall("fence", include_superseded=True))[0] == "Paint the fence."
    assert "Rinse the brush." not in contents(session.recall("rinse the brush"))
    assert session.recall("how to paint a fence").procedures[0].steps[1].summary == "paint"
    # Equal texts and message ids are known again, and numbers go on.
    known = client.remember(
        [memory("fact", "heron is the STAGING host.")], scope=target, axes={"user_id": "ada", "channel": "c1"}
    )
    assert known.results[0].memory_id == "sch_1"
    turns = client.record_turns(
        [turn("biscuit the greyhound  sleeps.", msg_id="m-1")],
        scope=target,
        axes={"conversation_id": "c", "agent_id": "scribe"},
    )
    assert turns.results[0].memory_id == "evt_3"
    assert client.remember([memory("fact", "New here.")], scope=target).results[0].memory_id == "sch_8"


def test_an_import_that_broke_off_is_resumed(client: Client, scope: str, filled: Parts) -> None:
    target = f"{scope}-copy"
    header, batch = filled[0], filled[1].batch
    small = [
        transfer_pb2.ExportResponse(
            batch=transfer_pb2.TransferBatch(records=[record], upto=int(record.memory.memory_id.rpartition("_")[2]))
        )
        for record in batch.records
    ]

    def breaks_off() -> Iterator[transfer_pb2.ExportResponse]:
        yield header
        yield from small[:3]
        raise OSError("the disk is gone")

    with pytest.raises(ClientError):
        list(client.import_scope(breaks_off(), scope=target, import_id="i-1"))
    assert len(client.list_memories(scope=target).memories) < 4
    answers = list(client.import_scope([header, *small], scope=target, import_id="i-1"))
    assert answers[-1].complete
    assert records(list(client.export_scope(scope=target))) == records(filled)
    # Once it is complete the same import changes nothing.
    assert list(client.import_scope(filled, scope=target, import_id="i-1"))[-1].imported == 7


def test_vectors_are_kept_and_texts_without_any_wait_for_nothing_with_the_encoder_down(
    client: Client, scope: str, killed: Outage
) -> None:
    client.remember([memory("fact", "Heron is the staging host."), memory("fact", "แมวของฉันชื่อพิกเซล")], scope=scope)
    out = list(client.export_scope(scope=scope))
    assert [bool(record.vectors) for record in records(out)] == [True, False]
    with killed(Role.ENCODER):
        list(client.import_scope(out, scope=f"{scope}-copy", import_id="i"))
        again = list(client.export_scope(scope=f"{scope}-copy"))
        assert client.get_scope(scope=f"{scope}-copy").unembedded == 0
    assert records(again) == records(out)
    assert all(record.memory.embedded for record in records(again))


def test_an_import_into_a_scope_that_was_forgotten_is_refused_however_it_came_to_be(
    client: Client, scope: str, filled: Parts
) -> None:
    list(client.import_scope(filled, scope=f"{scope}-copy", import_id="i"))
    client.forget(whole_scope=True, scope=f"{scope}-copy")
    with pytest.raises(PreconditionFailed) as refused:
        list(client.import_scope(filled, scope=f"{scope}-copy", import_id="i"))
    assert refused.value.reason == "SCOPE_NOT_EMPTY"


def test_an_export_goes_on_where_it_broke_off(client: Client, scope: str, filled: Parts) -> None:
    rest = list(client.export_scope(scope=scope, after=4))
    assert records(rest) == records(filled)[4:]


@pytest.mark.parametrize("how", ["written", "other import", "forgotten"])
def test_a_scope_that_was_written_to_takes_no_import(client: Client, scope: str, filled: Parts, how: str) -> None:
    target = f"{scope}-used"
    if how == "other import":
        list(client.import_scope(filled, scope=target, import_id="i-1"))
    else:
        client.remember([memory("fact", "Here first.")], scope=target)
    if how == "forgotten":
        client.forget(scope=target, whole_scope=True)
    with pytest.raises(PreconditionFailed) as refused:
        list(client.import_scope(filled, scope=target, import_id="i-2"))
    assert refused.value.reason == "SCOPE_NOT_EMPTY"


def test_nothing_invalid_gets_in(client: Client, scope: str, filled: Parts) -> None:
    def tampered(change: Callable[[transfer_pb2.TransferRecord], None]) -> Parts:
        batch = transfer_pb2.TransferBatch()
        batch.CopyFrom(filled[1].batch)
        change(batch.records[0])
        return [filled[0], transfer_pb2.ExportResponse(batch=batch)]

    def long_text(record: transfer_pb2.TransferRecord) -> None:
        record.memory.content = "x" * 16001

    def no_id(record: transfer_pb2.TransferRecord) -> None:
        record.memory.memory_id = "nonsense"

    def disorder(record: transfer_pb2.TransferRecord) -> None:
        record.memory.memory_id = "sch_7"

    def no_details(record: transfer_pb2.TransferRecord) -> None:
        record.details = b"\xff\xff"

    for number, change in enumerate((long_text, no_id, disorder, no_details)):
        with pytest.raises(InvalidArgument) as refused:
            list(client.import_scope(tampered(change), scope=f"{scope}-{number}"))
        assert refused.value.violations[0].field.startswith("batch.records[")
    for parts in ([], filled[1:]):
        with pytest.raises(InvalidArgument):
            list(client.import_scope(parts, scope=f"{scope}-parts"))
    with pytest.raises(InvalidArgument):
        list(client.export_scope(scope=tenant("o", user_id="u")))


def test_a_damaged_vector_is_made_anew(client: Client, scope: str, filled: Parts) -> None:
    target = f"{scope}-copy"
    sound = records(filled)[0].vectors
    filled[1].batch.records[0].vectors = b"\x00" * len(sound)
    list(client.import_scope(filled, scope=target))
    deadline = time.monotonic() + 10
    while not records(list(client.export_scope(scope=target)))[0].vectors:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert records(list(client.export_scope(scope=target)))[0].vectors == sound


async def test_the_async_client_transfers_too(client: Client, scope: str, filled: Parts, service: object) -> None:
    async with AsyncClient.connect(service.address) as other:  # type: ignore[attr-defined]
        parts = [part async for part in other.export_scope(scope=scope)]
        assert records(parts) == records(filled)
        answers = [a async for a in other.import_scope(parts, scope=f"{scope}-copy")]
        assert answers[-1].complete
        for _ in range(10):
            with pytest.raises(PreconditionFailed):
                [a async for a in other.import_scope(parts, scope=scope)]
