"""Axes: what is stored, what filters, who sees what."""

from __future__ import annotations

import pytest

from remembrancer.model.axes import NAMES, axis_of, check_axes, for_read, for_write, visible, without_filter
from remembrancer.model.errors import InvalidField
from remembrancer.model.scope import parse_scope
from remembrancer.v1 import common_pb2
from remembrancer.v1.common_pb2 import Axes, Scope, TenantScope

EVERYTHING = Axes(agent_id="a", user_id="u", conversation_id="c", project_id="p", channel="ch", source_id="s")


def test_a_write_takes_what_it_does_not_set_from_its_session() -> None:
    assert for_write(Axes(user_id="own"), EVERYTHING) == Axes(
        agent_id="a", user_id="own", conversation_id="c", project_id="p", channel="ch", source_id="s"
    )
    assert for_write(Axes()) == Axes(agent_id="default-agent", project_id="")


def test_a_read_takes_only_agent_user_and_project_from_its_session() -> None:
    assert for_read(Axes(), EVERYTHING, ()) == Axes(agent_id="a", user_id="u", project_id="p")
    assert for_read(EVERYTHING, Axes(), ()) == EVERYTHING


def test_any_axis_does_not_filter_whatever_call_and_session_say() -> None:
    for lifted in NAMES:
        read = for_read(EVERYTHING, EVERYTHING, [axis_of(lifted)])
        assert [name for name in NAMES if not read.HasField(name)] == [lifted]
        stranger = Axes(agent_id="a", user_id="u", conversation_id="c", project_id="p", channel="ch", source_id="s")
        setattr(stranger, lifted, "another")
        assert visible(stranger, read)
        assert not visible(stranger, for_read(EVERYTHING, EVERYTHING, ()))
    assert for_read(Axes(), EVERYTHING, [axis_of(name) for name in NAMES]) == Axes()


def test_a_tenant_scope_s_user_and_conversation_filter_whatever_any_axis_says() -> None:
    every = [axis_of(name) for name in NAMES]
    held = parse_scope(Scope(tenant=TenantScope(org_id="o", user_id="u", session_id="c")))
    assert set(every) - without_filter(every, held) == {common_pb2.AXIS_USER_ID, common_pb2.AXIS_CONVERSATION_ID}
    assert without_filter(every, parse_scope(Scope(path="a:b"))) == set(every)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "project_id"])
def test_a8_an_empty_axis_is_the_same_as_an_unset_one(name: str) -> None:
    empty = Axes(**{name: ""})
    for session in (Axes(), EVERYTHING):
        assert for_read(empty, session, ()) == for_read(Axes(), session, ())
        assert for_write(empty, session) == for_write(Axes(), session)


def test_p5_the_three_states_of_the_project() -> None:
    seen = {
        name: [p for p in ("", "A", "B") if visible(Axes(agent_id="x", project_id=p), reader)]
        for name, reader in {
            "absent": Axes(agent_id="x"),
            "global": Axes(agent_id="x", project_id=""),
            "A": Axes(agent_id="x", project_id="A"),
        }.items()
    }
    assert seen == {"absent": ["", "A", "B"], "global": [""], "A": ["", "A"]}


def test_p11_an_imported_record_without_an_agent_is_the_default_agents() -> None:
    assert visible(Axes(), for_read(Axes(), Axes(), ()))
    assert not visible(Axes(), Axes(agent_id="x"))


def test_a_channel_lets_records_without_one_through_and_a_source_is_a_prefix() -> None:
    base = {"agent_id": "x"}
    assert visible(Axes(**base), Axes(**base, channel="c1"))
    assert not visible(Axes(**base, channel="c2"), Axes(**base, channel="c1"))
    assert visible(Axes(**base, source_id="wiki/a"), Axes(**base, source_id="wiki/"))
    assert not visible(Axes(**base, source_id="Wiki/a"), Axes(**base, source_id="wiki/"))
    # T25: what only holds the prefix does not begin with it.
    assert not visible(Axes(**base, source_id="xab"), Axes(**base, source_id="ab"))
    assert not visible(Axes(**base, source_id="w"), Axes(**base, source_id="%"))


def test_a_tenant_scope_fills_user_and_conversation_and_contradicts_nothing() -> None:
    scope = parse_scope(Scope(tenant=TenantScope(org_id="o", user_id="u", session_id="c")))
    assert check_axes(Axes(agent_id="a"), scope) == Axes(agent_id="a", user_id="u", conversation_id="c")
    assert check_axes(Axes(user_id="u"), scope).user_id == "u"
    with pytest.raises(InvalidField) as refused:
        check_axes(Axes(conversation_id="other"), scope)
    assert refused.value.violations[0].field == "axes.conversation_id"
