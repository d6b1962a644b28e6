"""The operating context as text, and what `@auto` becomes."""

from __future__ import annotations

import pytest

from remembrancer.model.auto_project import NotUnderstood, parse_projects, resolve_auto
from remembrancer.v1.common_pb2 import WARNING_CODE_OPERATING_CONTEXT_UNMAPPED, Axes


def test_json_and_toml_say_the_same() -> None:
    expected = {"anna": "lantern", "agent.two": "", "default-agent": "home"}
    assert parse_projects('{"anna": "lantern", "agent.two": "", "default-agent": "home"}', toml=False) == expected
    assert parse_projects('anna = "lantern"\n"agent.two" = ""\ndefault-agent = "home"', toml=True) == expected


@pytest.mark.parametrize(
    "text", ["", "[]", '"x"', "{", '{"a": null}', '{"a": {"b": "c"}}', f'{{"a": "{"x" * 257}"}}', "[" * 100_000]
)
def test_what_is_no_table_of_projects_is_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstood):
        parse_projects(text, toml=False)


def test_an_unset_agent_is_the_default_agent() -> None:
    asking = Axes(project_id="@auto")
    assert resolve_auto(asking, {"default-agent": "home"}) == (Axes(project_id="home"), "home", [])
    assert asking == Axes(project_id="@auto")


def test_what_does_not_ask_stays_as_it_is() -> None:
    for axes in (Axes(), Axes(project_id=""), Axes(project_id="@Auto"), Axes(project_id="x")):
        assert resolve_auto(axes, {"default-agent": "home"}) == (axes, None, [])


def test_p7_an_agent_without_a_project_gets_the_global_pool_and_a_warning() -> None:
    axes, project, (warning,) = resolve_auto(Axes(agent_id="zoe", project_id="@auto"), {})
    assert (project, axes.project_id) == ("", "")
    assert axes.HasField("project_id")
    assert warning.code == WARNING_CODE_OPERATING_CONTEXT_UNMAPPED
    assert "zoe" not in warning.message
