"""The path that led to an associated memory, as it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.entity_mark import mark_of
from remembrancer.model.ids import record_id

UNNAMED: Final = "something"
"""Stands for an entity that no record names any more."""

_STEPS: Final = {
    tier_pb2.EDGE_KIND_NEXT_TURN: "next turn of",
    tier_pb2.EDGE_KIND_PREVIOUS_TURN: "previous turn of",
    tier_pb2.EDGE_KIND_SAME_SESSION: "written in the same session as",
    tier_pb2.EDGE_KIND_SAME_CONVERSATION: "in the same conversation as",
    tier_pb2.EDGE_KIND_USED_TOGETHER: "used together with",
    tier_pb2.EDGE_KIND_REPLACES: "replaces",
}


def path_of(planned: store_pb2.PlannedHit, records: Mapping[int, store_pb2.Record]) -> list[str]:
    """Return the path, a step a line; the names of entities are those that `records` have now."""
    return [_step(planned.n, step, records) for step in planned.path]


def entity_in(record: store_pb2.Record | None, mark: int) -> store_pb2.Entity | None:
    """Return the entity of a record that has this mark."""
    mentioned = record.analysis.entities if record is not None else ()
    return next((entity for entity in mentioned if mark_of(entity.entity_id) == mark), None)


def _step(n: int, step: store_pb2.PlannedStep, records: Mapping[int, store_pb2.Record]) -> str:
    source = record_id(step.source_kind, step.source) if step.source_kind else "an earlier memory"
    if step.kind != tier_pb2.EDGE_KIND_SHARES_ENTITY:
        return f"{_STEPS.get(tier_pb2.EdgeKind.ValueType(step.kind), 'linked with')} {source}"
    entity = entity_in(records.get(step.source), step.mark) or entity_in(records.get(n), step.mark)
    return f"shares {_quoted(entity.label) if entity is not None else UNNAMED} with {source}"


def _quoted(label: str) -> str:
    return f'"{label}"'
