"""Checks what a call selects, and finds single memories by id."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.auto_project import resolve_auto
from remembrancer.model.axes import check_axes, without_filter
from remembrancer.model.clock import check_timestamp
from remembrancer.model.errors import InvalidField, MemoryNotFound
from remembrancer.model.ids import parse_record
from remembrancer.model.scope import AXIS_LENGTH, ScopeKey
from remembrancer.model.selection import Selection, select
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.v1 import common_pb2, record_pb2
from services.gateway.requests import enums
from services.gateway.shared.parts import Parts

NO_RECORD: Final = (0, 0)
"""Kind and N that no record has."""


def check_selection(
    selection: record_pb2.MemorySelection, scope: ScopeKey, projects: Mapping[str, str] | None
) -> Selection:
    """Return the checked selection; `projects` is the operating context. Errors: InvalidField naming its part."""
    enums.all_known("selection.kinds", common_pb2.MemoryKind, selection.kinds)
    enums.all_known("selection.types", common_pb2.MemoryType, selection.types)
    after = selection.occurred_after if selection.HasField("occurred_after") else None
    before = selection.occurred_before if selection.HasField("occurred_before") else None
    for name, moment in (("occurred_after", after), ("occurred_before", before)):
        if moment is not None:
            check_timestamp(f"selection.{name}", moment)
    return replace(
        check_view(selection.axes, selection.any_axis, scope, projects, "selection."),
        kinds=frozenset(selection.kinds),
        types=frozenset(selection.types),
        after=after,
        before=before,
    )


def check_view(
    axes: common_pb2.Axes,
    lifted: Collection[int],
    scope: ScopeKey,
    projects: Mapping[str, str] | None,
    prefix: str = "",
) -> Selection:
    """Return what a read with these axes sees. What a tenant scope says cannot be lifted.

    Errors: InvalidField; also for `@auto` where the operating context has no project, since nothing here can warn.
    """
    enums.all_known(f"{prefix}any_axis", common_pb2.Axis, lifted)
    checked = check_axes(axes, scope, f"{prefix}axes")
    view = select(checked, without_filter(lifted, scope))
    resolved = resolve_auto(view.axes, projects)
    if resolved.warnings:
        raise InvalidField(f"{prefix}axes.project_id", "the operating context names no project for this agent")
    return replace(view, axes=resolved.axes)


def named_by(kind: int, record: store_pb2.Record) -> bool:
    """Return whether an id of this kind names the record: `evt_N` is also the raw record of observation N."""
    raw_of = kind == store_pb2.RECORD_KIND_TURN and record.kind == store_pb2.RECORD_KIND_OBSERVATION
    return kind == record.kind or raw_of


@dataclass(frozen=True, slots=True)
class Stored:
    """A record as it was read."""

    n: int
    raw: bytes
    record: store_pb2.Record
    unembedded: bool


async def find(parts: Parts, keys: PartitionKeys, memory_id: str, view: Selection, *, hidden: bool = False) -> Stored:
    """Return the record that an id names. Errors: MemoryNotFound, for one that is not visible, too.

    `hidden`: whether a suppressed one is found.
    """
    kind, n = parse_record(memory_id) or NO_RECORD
    snapshot = await parts.store.read(("HGET", keys.records, str(n)), ("SISMEMBER", keys.unembedded, str(n)))
    raw, unembedded = snapshot.answers
    record = decode.record(raw)
    if record is None or not named_by(kind, record) or not view.sees(record) or (record.suppressed and not hidden):
        raise MemoryNotFound(memory_id[:AXIS_LENGTH])
    return Stored(n, raw, record, bool(unembedded))
