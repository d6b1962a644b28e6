"""`@auto`: the project that the operator gave an agent by default."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Final

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


def settle(axes: common_pb2.Axes, projects: Mapping[str, str] | None) -> tuple[str | None, list[common_pb2.Warning]]:
    """Put the agent's project in the place of `@auto` in axes that nothing else falls back to or from any more.

    Returns the project, None when the axes did not ask, and a warning when the agent has none: then it is the global
    pool. Without `projects`, `@auto` is a project like any other.
    """
    if axes.project_id != AUTO:
        return None, []
    if projects is None:
        return AUTO, []
    project = projects.get(axes.agent_id or DEFAULT_AGENT)
    axes.project_id = GLOBAL_POOL if project is None else project
    if project is not None:
        return project, []
    warning = common_pb2.Warning(
        code=common_pb2.WARNING_CODE_OPERATING_CONTEXT_UNMAPPED,
        message="the operating context names no project for this agent; @auto stands for the global pool",
    )
    return GLOBAL_POOL, [warning]
