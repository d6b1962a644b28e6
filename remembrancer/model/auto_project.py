"""`@auto`: the project that the operator gave an agent by default."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Final, NamedTuple

from remembrancer.model.axes import DEFAULT_AGENT
from remembrancer.model.scope import AXIS_LENGTH
from remembrancer.v1 import common_pb2

AUTO: Final = "@auto"
GLOBAL_POOL: Final = ""


class NotUnderstood(ValueError):
    """The operating context is no table of agents and projects."""


def parse_projects(text: str, *, toml: bool) -> dict[str, str]:
    """Return agent -> project from a JSON object or a TOML table of strings. Errors: NotUnderstood."""
    try:
        table = tomllib.loads(text) if toml else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotUnderstood("is not well-formed") from error
    if not isinstance(table, dict):
        raise NotUnderstood("is not a table")
    for agent, project in table.items():
        if not isinstance(project, str) or len(project) > AXIS_LENGTH:
            raise NotUnderstood(f"the project of agent {agent[:64]!r} is no text of at most {AXIS_LENGTH} characters")
    return table


class Resolved(NamedTuple):
    """Axes without `@auto`; the project that took its place, None when the axes did not ask; what to warn of."""

    axes: common_pb2.Axes
    project: str | None
    warnings: list[common_pb2.Warning]


def resolve_auto(axes: common_pb2.Axes, projects: Mapping[str, str] | None) -> Resolved:
    """Return axes with the agent's project in the place of `@auto`; they must not fall back to others any more.

    An agent that has none gets the global pool and a warning. Without `projects`, `@auto` is a project like any other.
    """
    if axes.project_id != AUTO:
        return Resolved(axes, None, [])
    if projects is None:
        return Resolved(axes, AUTO, [])
    project = projects.get(axes.agent_id or DEFAULT_AGENT)
    resolved = common_pb2.Axes()
    resolved.CopyFrom(axes)
    resolved.project_id = GLOBAL_POOL if project is None else project
    if project is not None:
        return Resolved(resolved, project, [])
    warning = common_pb2.Warning(
        code=common_pb2.WARNING_CODE_OPERATING_CONTEXT_UNMAPPED,
        message="the operating context names no project for this agent; @auto stands for the global pool",
    )
    return Resolved(resolved, GLOBAL_POOL, [warning])
