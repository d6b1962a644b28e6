"""Axes: who a record belongs to inside its partition, and how calls fall back to their session's."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, TypeAlias

from remembrancer.model.errors import InvalidField
from remembrancer.model.scope import AXIS_LENGTH, ScopeKey
from remembrancer.v1 import common_pb2

DEFAULT_AGENT: Final = "default-agent"

AxisName: TypeAlias = Literal["agent_id", "user_id", "conversation_id", "project_id", "channel", "source_id"]
NAMES: Final[tuple[AxisName, ...]] = ("agent_id", "user_id", "conversation_id", "project_id", "channel", "source_id")

_INHERITED_BY_READS: Final[tuple[AxisName, ...]] = ("agent_id", "user_id", "project_id")


def check_axes(axes: common_pb2.Axes, scope: ScopeKey | None = None, field: str = "axes") -> common_pb2.Axes:
    """Return the axes of a request, completed by a tenant scope's. Errors: InvalidField naming the axis."""
    for name in NAMES:
        if len(getattr(axes, name)) > AXIS_LENGTH:
            raise InvalidField(f"{field}.{name}", f"must have at most {AXIS_LENGTH} characters")
    completed = common_pb2.Axes()
    completed.CopyFrom(axes)
    if scope is not None:
        for name, value in (("user_id", scope.user_id), ("conversation_id", scope.conversation_id)):
            if not value:
                continue
            given = getattr(axes, name)
            if given and given != value:
                raise InvalidField(f"{field}.{name}", "differs from the one in the tenant scope")
            setattr(completed, name, value)
    return completed


def is_set(axes: common_pb2.Axes, name: AxisName) -> bool:
    """Return whether an axis says something: "" is the same as unset, but the project "" is the global pool."""
    return axes.HasField(name) and (name == "project_id" or bool(getattr(axes, name)))


def for_write(*layers: common_pb2.Axes) -> common_pb2.Axes:
    """Return the axes to store: per axis the first layer that sets it, else unset.

    An unset agent is `default-agent`, an unset project the global pool "".
    """
    axes = _first_set(layers)
    axes.agent_id = axes.agent_id or DEFAULT_AGENT
    axes.project_id = axes.project_id
    return axes


def axis_of(name: AxisName) -> common_pb2.Axis.ValueType:
    """Return the enum value of an axis."""
    return common_pb2.Axis.Value(f"AXIS_{name.upper()}")


def without_filter(any_axis: Collection[int], scope: ScopeKey) -> frozenset[int]:
    """Return the axes that do not filter a read. A tenant scope's user and conversation always filter."""
    held = {"user_id": scope.user_id, "conversation_id": scope.conversation_id}
    return frozenset(axis_of(name) for name in NAMES if axis_of(name) in any_axis and not held.get(name))


def for_read(call: common_pb2.Axes, session: common_pb2.Axes, lifted: Collection[int]) -> common_pb2.Axes:
    """Return the axes that filter a read; an axis that is unset does not filter.

    `lifted` axes are unset, whatever call and session say. Any other read is one agent's: `agent_id` is set.
    """
    axes = common_pb2.Axes()
    for name in NAMES:
        if axis_of(name) in lifted:
            continue
        if is_set(call, name):
            setattr(axes, name, getattr(call, name))
        elif name in _INHERITED_BY_READS and is_set(session, name):
            setattr(axes, name, getattr(session, name))
    if common_pb2.AXIS_AGENT_ID not in lifted:
        axes.agent_id = axes.agent_id or DEFAULT_AGENT
    return axes


def visible(stored: common_pb2.Axes, reader: common_pb2.Axes) -> bool:
    """Return whether a record with the axes `stored` is seen by a read with the axes `reader` (from `for_read`).

    Stored axes may lack an agent where they were imported: that is the default agent. `workers.index.table` says the
    same over columns.
    """
    return (
        (not reader.HasField("agent_id") or (stored.agent_id or DEFAULT_AGENT) == (reader.agent_id or DEFAULT_AGENT))
        and (not reader.user_id or stored.user_id == reader.user_id)
        and (not reader.conversation_id or stored.conversation_id == reader.conversation_id)
        and (not reader.HasField("project_id") or stored.project_id in ("", reader.project_id))
        and (not reader.channel or stored.channel in ("", reader.channel))
        and stored.source_id.startswith(reader.source_id)
    )


def _first_set(layers: tuple[common_pb2.Axes, ...]) -> common_pb2.Axes:
    axes = common_pb2.Axes()
    for name in NAMES:
        for layer in layers:
            if is_set(layer, name):
                setattr(axes, name, getattr(layer, name))
                break
    return axes
