"""Procedures: found apart from memories."""

from __future__ import annotations

from typing import Any

from google.protobuf import struct_pb2

from remembrancer.internal.v1 import store_pb2
from tests.records import record
from tests.unit.index.records import direction, index, near, request, stored
from tests.vectors import Vector
from workers.index.partition import PartitionIndex

PROCEDURE = store_pb2.RECORD_KIND_PROCEDURE


def struct(**values: Any) -> struct_pb2.Struct:
    made = struct_pb2.Struct()
    made.update(values)
    return made


def procedure(text: str, key: str = "", axes: dict[str, str] | None = None, **context: Any) -> store_pb2.Record:
    body = store_pb2.ProcedureBody(context=struct(**context), deduplication_key=key)
    return record(text, PROCEDURE, procedure=body, axes=axes or {})


def ask(
    found: PartitionIndex, query: str = "", vector: Vector | None = None, wanted: int = 3, **context: Any
) -> list[int]:
    made = request(query, vector)
    made.procedures = wanted
    made.task_context.CopyFrom(struct(**context))
    return [p.n for p in found.procedures(made)]


def test_meaning_admits_and_distance_does_not() -> None:
    found = index(
        stored(1, procedure("alpha"), near("q", 0.7, "a")),
        stored(2, procedure("beta"), near("q", 0.3, "b")),
    )
    assert ask(found, "", direction("q")) == [1]


def test_a_rare_shared_term_admits_and_a_common_one_does_not() -> None:
    states = [stored(n, record(f"deploy number {n}"), direction(f"v{n}")) for n in range(10, 60)]
    found = index(stored(1, procedure("deploy the falcon service"), direction("a")), *states)
    assert ask(found, "falcon outage") == [1]
    assert ask(found, "deploy outage") == []


def test_procedures_are_never_memories_nor_memories_procedures() -> None:
    found = index(stored(1, procedure("falcon"), direction("q")), stored(2, record("falcon"), direction("q")))
    wanted = request("falcon", direction("q"))
    wanted.procedures = 3
    assert [c.n for c in found.search(wanted).candidates] == [2]
    assert [p.n for p in found.procedures(wanted)] == [1]
    assert not found.scorer(wanted).visible(1)


def test_contexts_must_agree_where_both_have_a_key() -> None:
    found = index(
        stored(1, procedure("falcon", language="go", deep={"a": [1, 2]}, run_id="x")),
        stored(2, procedure("falcon", language="rust")),
        stored(3, procedure("falcon")),
    )
    assert ask(found, "falcon", language="go") == [1, 3]
    assert ask(found, "falcon", language="go", deep={"a": [1, 3]}) == [3]
    assert ask(found, "falcon", run_id="y") == [1, 2, 3]
    assert ask(found, "falcon", other=1) == [1, 2, 3]


def test_s20_one_harm_outweighs_one_help() -> None:
    def after(helped: int = 0, harmed: int = 0) -> list[int]:
        return ask(
            index(
                stored(1, procedure("falcon"), None, store_pb2.Learned(helped=helped, harmed=harmed)),
                stored(2, procedure("falcon")),
            ),
            "falcon",
        )

    assert after() == [1, 2]
    assert after(harmed=1) == [2, 1]
    assert after(harmed=1, helped=1) == [2, 1]
    found = index(stored(1, procedure("falcon")), stored(2, procedure("falcon"), None, store_pb2.Learned(helped=1)))
    assert ask(found, "falcon") == [2, 1]


def test_feedback_never_admits() -> None:
    found = index(stored(1, procedure("beta"), near("q", 0.3, "b"), store_pb2.Learned(helped=50)))
    assert ask(found, "", direction("q")) == []


def test_of_several_with_one_key_the_best_is_returned() -> None:
    found = index(
        stored(1, procedure("alpha", key="k"), near("q", 0.6, "a")),
        stored(2, procedure("beta", key="k"), near("q", 0.7, "b")),
        stored(3, procedure("gamma"), near("q", 0.5, "c")),
        stored(4, procedure("delta"), near("q", 0.45, "d")),
    )
    assert ask(found, "", direction("q")) == [2, 3, 4]
    assert ask(found, "", direction("q"), wanted=1) == [2]
    assert ask(found, "", direction("q"), wanted=0) == []


def test_another_agents_procedures_are_not_seen() -> None:
    assert ask(index(stored(1, procedure("falcon", axes={"agent_id": "other"}))), "falcon") == []


def test_an_erased_procedure_is_gone() -> None:
    found = index(stored(1, procedure("falcon")))
    found.apply(stored(1, None))
    assert ask(found, "falcon") == []
