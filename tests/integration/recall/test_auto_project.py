"""`@auto`: the project that the operator's file gives an agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, InvalidArgument, memory, selection, turn
from remembrancer.v1 import common_pb2
from tests.service import OPERATING_CONTEXT, OpenSession, Session, contents

UNMAPPED = common_pb2.WARNING_CODE_OPERATING_CONTEXT_UNMAPPED
LANTERN, HARBOUR, OPEN = "Lantern: the oil is in the shed.", "Harbour: the oil is in the boat.", "The oil is cheap."


@pytest.fixture
def file(service: LocalService) -> Iterator[Path]:
    """The operating-context file: agent `anna` works on the project lantern."""
    path = service.folder.root / OPERATING_CONTEXT
    path.write_text(json.dumps({"anna": "lantern"}))
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def filled(client: Client, scope: str) -> str:
    for agent in ("anna", "bert"):
        for project, text in (("lantern", LANTERN), ("harbour", HARBOUR), ("", OPEN), ("@auto", f"For {agent}, auto.")):
            client.remember([memory("fact", text)], scope=scope, axes={"agent_id": agent, "project_id": project})
    return scope


def codes(answer: object) -> list[int]:
    return [warning.code for warning in answer.warnings]  # type: ignore[attr-defined]


def auto(session: Session, agent: str, **more: int) -> tuple[set[str], str, list[int]]:
    answer = session.recall("where is the oil?", "active", axes={"agent_id": agent, "project_id": "@auto"}, **more)
    assert answer.HasField("resolved_project_id")
    return set(contents(answer)), answer.resolved_project_id, codes(answer)


def test_p7_an_agent_in_the_file_gets_its_project_and_one_that_is_not_the_global_pool_with_a_warning(
    file: Path, filled: str, open_session: OpenSession
) -> None:
    session = open_session(filled)
    assert auto(session, "anna") == ({LANTERN, OPEN, "For anna, auto."}, "lantern", [])
    assert auto(session, "bert") == ({OPEN, "For bert, auto."}, "", [UNMAPPED])
    assert not session.recall("oil", axes={"agent_id": "anna"}).HasField("resolved_project_id")


def test_without_a_file_that_can_be_understood_it_is_a_project_of_that_name(
    service: LocalService, file: Path, client: Client, scope: str, open_session: OpenSession
) -> None:
    session = open_session()
    for broken in (None, "{", '["anna"]', '{"anna": 1}', "\\"):
        file.unlink(missing_ok=True)
        if broken is not None:
            file.write_text(broken)
        text = f"Written while the file held {broken}."
        written = client.remember([memory("fact", text)], scope=scope, axes={"agent_id": "anna", "project_id": "@auto"})
        assert written.results[0].resolved_project_id == "@auto"
        assert codes(written) == []
        found, project, warnings = auto(session, "anna", top_k=50)
        assert text in found
        assert (project, warnings) == ("@auto", [])


def test_the_file_is_read_again_when_it_changes(file: Path, filled: str, open_session: OpenSession) -> None:
    session = open_session(filled)
    assert auto(session, "anna")[1] == "lantern"
    file.write_text(json.dumps({"anna": "harbour", "bert": "lantern"}))
    assert auto(session, "anna")[:2] == ({HARBOUR, OPEN}, "harbour")
    assert auto(session, "bert")[1:] == ("lantern", [])
    file.unlink()
    assert auto(session, "anna")[1] == "@auto"


def test_writes_go_to_the_agents_project_and_say_so(file: Path, client: Client, scope: str) -> None:
    axes = {"agent_id": "anna", "project_id": "@auto"}
    written = client.remember(
        [
            memory("fact", "One."),
            memory("fact", "Two.", axes={"agent_id": "bert"}),
            memory("fact", "Three.", axes={"project_id": "x"}),
        ],
        scope=scope,
        axes=axes,
    )
    assert [r.resolved_project_id for r in written.results] == ["lantern", "", ""]
    assert [r.HasField("resolved_project_id") for r in written.results] == [True, True, False]
    assert codes(written) == [UNMAPPED]
    turns = client.record_turns([turn("Four.", msg_id="1")], scope=scope, axes=axes)
    assert turns.results[0].resolved_project_id == "lantern"
    # The same under its own name: nothing new.
    again = client.remember([memory("fact", "One.")], scope=scope, axes={"agent_id": "anna", "project_id": "lantern"})
    assert again.results[0].memory_id == written.results[0].memory_id


def test_a_session_takes_it_once_for_all_its_calls(
    file: Path, filled: str, client: Client, open_session: OpenSession
) -> None:
    session = open_session(filled, axes={"agent_id": "anna", "project_id": "@auto"})
    assert session.opening.resolved_project_id == "lantern"
    file.unlink()
    assert LANTERN in contents(session.recall("where is the oil?"))
    assert HARBOUR not in contents(session.recall("where is the oil?"))
    client.remember([memory("fact", "Five barrels of oil.")], scope=filled, session_id=session.session_id)
    answer = session.recall("barrels of oil", axes={"project_id": "lantern"})
    assert next(h for h in answer.hits.observations if h.content.startswith("Five")).axes.project_id == "lantern"
    assert codes(open_session(filled, axes={"agent_id": "zoe", "project_id": "@auto"}).opening) == []


def test_lists_contents_and_corrections_know_it_too_and_refuse_what_they_cannot_warn_of(
    file: Path, filled: str, client: Client
) -> None:
    auto = {"agent_id": "anna", "project_id": "@auto"}
    listed = client.list_memories(scope=filled, selection=selection(axes=auto)).memories
    assert {m.content for m in listed} == {LANTERN, OPEN, "For anna, auto."}
    (lantern,) = [m.memory_id for m in listed if m.content == LANTERN]
    (harbour,) = [
        m.memory_id
        for m in client.list_memories(scope=filled, selection=selection(axes={"agent_id": "anna"})).memories
        if m.content == HARBOUR
    ]
    found = client.get_contents([lantern, harbour], scope=filled, axes=auto)
    assert ([m.memory_id for m in found.contents], list(found.missing)) == ([lantern], [harbour])
    nobody = {"agent_id": "bert", "project_id": "@auto"}
    for call in (
        lambda: client.list_memories(scope=filled, selection=selection(axes=nobody)),
        lambda: client.get_contents([lantern], scope=filled, axes=nobody),
        lambda: client.forget(lantern, scope=filled, axes=nobody),
    ):
        with pytest.raises(InvalidArgument) as refused:
            call()
        assert refused.value.violations[0].field.endswith("axes.project_id")
