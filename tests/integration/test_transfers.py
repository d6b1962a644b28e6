"""Imports that are refused, rivalled or sent by halves, on a real store and without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import InvalidField, ScopeNotEmpty
from remembrancer.store.keys import CURRENT_MODEL, PartitionKeys
from remembrancer.v1 import correction_pb2, transfer_pb2
from services.gateway.memories.forgetting import call as forgetting
from services.gateway.memories.forgetting import erasure
from services.gateway.process import opened
from services.gateway.settings import GatewaySettings
from services.gateway.shared.parts import Parts
from services.gateway.transfer.export import export
from services.gateway.transfer.importing import import_scope
from tests.odd_encoder import unit
from tests.transfers import CALL, batch, exported, imported, path, record, records_of, requests, start
from tests.valkey import Valkey

Spoil = Callable[[transfer_pb2.TransferRecord, store_pb2.TransferDetails], object]


@pytest.fixture
async def parts(tier_store: Valkey) -> AsyncIterator[Parts]:
    async with opened(GatewaySettings(store_url=tier_store.url)) as made:
        yield made


def traces(store: Valkey, scope: str) -> list[bytes]:
    """Return every key and registry entry that the store has of a scope."""
    partition = PartitionKeys.of(scope).partition
    with store.client() as client:
        keys = client.keys(f"*{{{partition}}}*")
        registered = client.hexists("rm:scopes", partition) or client.sismember("rm:unembedded", partition)
        return [*keys, *([b"registered"] if registered else [])]


@pytest.mark.parametrize(
    ("last", "records", "field"),
    [
        (10**9, 3, "last_number"),
        (10**15, 10**15, "last_number"),
        (-1, 0, "last_number"),
        (3, 4, "records"),
        (3, -1, "records"),
    ],
)
async def test_t11_a_header_beyond_what_a_scope_can_hold_is_refused(
    parts: Parts, tier_store: Valkey, scope: str, last: int, records: int, field: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        await imported(parts, start(scope, "i", last, records), batch(record("sch_1"), upto=1))
    assert refused.value.violations[0].field == f"start.header.{field}"
    assert traces(tier_store, scope) == []


BEYOND: dict[str, tuple[str, Spoil, str]] = {
    "a procedure longer than the encoder takes": (
        "proc_2",
        lambda r, d: setattr(r.memory, "content", "x" * 80_000),
        "memory.content",
    ),
    "an observation longer than Remember takes": (
        "sch_2",
        lambda r, d: setattr(r.memory, "content", "x" * 16_001),
        "memory.content",
    ),
    "no type": ("sch_2", lambda r, d: r.memory.ClearField("type"), "memory.type"),
    "a long source": ("sch_2", lambda r, d: setattr(r.memory.source, "kind", "x" * 257), "memory.source.kind"),
    "a negative recall count": ("sch_2", lambda r, d: setattr(r.memory, "recall_count", -1), "memory.recall_count"),
    "a successor beyond the last number": (
        "sch_2",
        lambda r, d: setattr(r.memory, "replaced_by", 10**12),
        "memory.replaced_by",
    ),
    "a member beyond the last number": ("ep_2", lambda r, d: r.memory.members.append(10**12), "memory.members[0]"),
    "too many windows": ("sch_2", lambda r, d: setattr(r, "vectors", b"\0" * (2 * 384 * 32 + 2)), "vectors"),
    "negative feedback": ("sch_2", lambda r, d: setattr(d.learned, "helped", -2), "details.learned.helped"),
    "feedback whose sum overflows": (
        "proc_2",
        lambda r, d: setattr(d.learned, "harmed", 2**31 - 1),
        "details.learned.harmed",
    ),
    "an edge to itself": (
        "sch_2",
        lambda r, d: d.learned.used_together.add(other=2),
        "details.learned.used_together[0].other",
    ),
    "too many uses": (
        "proc_2",
        lambda r, d: d.learned.uses.extend([store_pb2.ProcedureUse()] * 17),
        "details.learned.uses",
    ),
    "a step that is too long": (
        "proc_2",
        lambda r, d: d.procedure.steps.append("x" * 1001),
        "details.procedure.steps[1]",
    ),
    "no steps": ("proc_2", lambda r, d: d.procedure.ClearField("steps"), "details.procedure.steps"),
    "a context with null": (
        "proc_2",
        lambda r, d: d.procedure.context.update({"key": None}),
        "details.procedure.context.key",
    ),
    "a procedure without its parts": ("proc_2", lambda r, d: d.ClearField("procedure"), "details.procedure"),
    "more terms than the text can have": (
        "sch_2",
        lambda r, d: d.analysis.terms.extend(["x"] * 100_000),
        "details.analysis.terms",
    ),
    "a digest that is none": ("sch_2", lambda r, d: setattr(d, "duplicate", "x" * 100), "details.duplicate"),
}


@pytest.mark.parametrize("case", BEYOND)
async def test_t11_a_record_beyond_a_limit_of_the_writing_calls_is_refused(
    parts: Parts, tier_store: Valkey, scope: str, case: str
) -> None:
    memory_id, spoil, field = BEYOND[case]
    bad = record(memory_id)
    details = store_pb2.TransferDetails.FromString(bad.details)
    spoil(bad, details)
    bad.details = details.SerializeToString()
    first = start(scope, "i", 3, 3)
    first.header.model_id = await parts.models.current()
    with pytest.raises(InvalidField) as refused:
        await imported(parts, first, batch(record("sch_1"), bad, upto=3))
    assert refused.value.violations[0].field == f"batch.records[1].{field}"
    assert traces(tier_store, scope) == []


async def test_t11_a_scope_that_forgot_most_of_what_it_held_passes(parts: Parts, scope: str) -> None:
    last = 10_000_000
    sparse = record("sch_7"), record("evt_9000000", "x" * 16_000), record("proc_9999999", "y" * 72_065)
    await imported(parts, start(scope, "i", last, 3), batch(*sparse, upto=last))
    held = (await parts.store.read_one(("HMGET", PartitionKeys.of(scope).meta, "n")))[0]
    assert held == str(last).encode()


async def test_t35_a_refused_import_leaves_its_scope_to_the_mended_file(parts: Parts, scope: str) -> None:
    bad = record("sch_1")
    bad.memory.content = " "
    with pytest.raises(InvalidField):
        await imported(parts, start(scope, "bad", 2, 1), batch(bad, upto=2))
    answers = await imported(parts, start(scope, "mended", 2, 1), batch(record("sch_1"), upto=2))
    assert answers[-1].complete
    with pytest.raises(ScopeNotEmpty):
        await imported(parts, start(scope, "another", 2, 1), batch(record("sch_1"), upto=2))


async def test_t35_a_scope_that_holds_no_record_can_be_claimed_by_another_import(parts: Parts, scope: str) -> None:
    await imported(parts, start(scope, "empty", 50), batch(upto=20), ends=False)
    answers = await imported(parts, start(scope, "other", 5, 1), batch(record("sch_4"), upto=5))
    assert (answers[-1].complete, answers[-1].upto, answers[-1].imported) == (True, 5, 1)
    header, *rest = await exported(parts, scope)
    assert header.header.last_number == 5
    assert [found.memory.memory_id for found in records_of(rest)] == ["sch_4"]


async def test_the_numbers_of_an_import_ascend_over_its_batches(parts: Parts, scope: str) -> None:
    """A batch that goes back is no resumed import: what it holds would be left out in silence."""
    with pytest.raises(InvalidField) as refused:
        await imported(parts, start(scope, "i", 9, 2), batch(record("sch_5"), upto=5), batch(record("sch_4"), upto=9))
    assert refused.value.violations[0].field == "batch.records[0].memory.memory_id"
    # From its beginning the same import is sent again and goes on.
    batches = batch(record("sch_5"), upto=5), batch(record("sch_6"), upto=9)
    assert (await imported(parts, start(scope, "i", 9, 2), *batches))[-1].imported == 2


async def test_a_resumed_import_has_the_header_that_it_began_with(parts: Parts, scope: str) -> None:
    """Another last number would let it write over what others wrote meanwhile."""
    await imported(parts, start(scope, "i", 2, 2), batch(record("sch_1"), upto=1), ends=False)
    with pytest.raises(InvalidField) as refused:
        await imported(parts, start(scope, "i", 9, 2), batch(record("sch_9"), upto=9))
    assert refused.value.violations[0].field == "start.header.last_number"


async def test_t7_an_export_beside_the_end_of_a_reindexing_says_what_has_no_vectors(
    parts: Parts, tier_store: Valkey, scope: str
) -> None:
    """From then on the former model's vectors go, and what is left of them fits the texts no more."""
    served = await parts.models.current()
    vector = unit(await parts.models.dimension_of(served))
    first = start(scope, "i", 2, 2)
    first.header.model_id = served
    held = [record("sch_1"), record("sch_2", "Another gate is green.")]
    for each in held:
        each.vectors, each.memory.embedded = vector, True
    await imported(parts, first, batch(*held, upto=2))
    assert [found.vectors for found in records_of(await exported(parts, scope))] == [vector] * 2
    running = export(parts, transfer_pb2.ExportRequest(scope=path(scope)), CALL)
    assert (await anext(running)).header.model_id == served
    keys = PartitionKeys.of(scope)
    with tier_store.client() as client:
        client.hdel(keys.vectors(served), "1")
        client.set(CURRENT_MODEL, "new@2")
        try:
            rest = records_of([part async for part in running])
        finally:
            client.set(CURRENT_MODEL, served)
    assert [(found.vectors, found.memory.embedded) for found in rest] == [(b"", False)] * 2


async def test_t7_forgetting_a_scope_while_it_is_imported_leaves_nothing_of_it(
    parts: Parts, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import's next batch comes when the records are erased and the erasure is not over."""
    batches = [batch(record(f"sch_{n}", f"Gate {n} is green."), upto=n) for n in (1, 2)]
    running = import_scope(parts, requests(start(scope, "i", 2, 2), batches), CALL)
    assert [(await anext(running)).upto for _ in range(2)] == [0, 1]
    outcomes: list[object] = []
    copies = erasure.erase_copies

    async def meanwhile(*arguments: object) -> None:
        with pytest.raises(ScopeNotEmpty):
            outcomes.append(await anext(running))
        await copies(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(forgetting, "erase_copies", meanwhile)
    await forgetting.forget(parts, correction_pb2.ForgetRequest(scope=path(scope), whole_scope=True), CALL)
    assert outcomes == []
    assert records_of(await exported(parts, scope)) == []
    with pytest.raises(ScopeNotEmpty):
        await imported(parts, start(scope, "i", 2, 2), *batches)
