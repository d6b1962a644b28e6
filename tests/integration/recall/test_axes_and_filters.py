"""Axes and filters bound the search itself, in both tiers, by meaning and by words."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from remembrancer.client import Client, ClientError, memory, tenant, turn
from remembrancer.v1 import common_pb2
from tests.service import ACTIVE, DEEP, OpenSession, contents, hits

MODES = pytest.mark.parametrize("mode", ["active", "deep"])


@pytest.fixture
def org(scope: str) -> common_pb2.Scope:
    """The stateless form of a scope that no other test writes to."""
    return tenant(scope.partition(":")[2])


AXES = ("agent_id", "user_id", "conversation_id", "project_id", "channel", "source_id")


@pytest.fixture(scope="module")
def crowd(client: Client) -> common_pb2.Scope:
    """A scope with 300 good matches of everybody, and five bad ones for each axis with a value of its own."""
    crowded = tenant(f"crowd-{uuid.uuid4()}")
    everybody = {axis: f"common-{axis}" for axis in AXES}
    for start in range(0, 300, 100):
        texts = [f"The harbour bell number {n} rings at dawn." for n in range(start, start + 100)]
        client.remember([memory("fact", text) for text in texts], scope=crowded, axes=everybody)
    for axis in AXES:
        texts = [f"Note {n} about a potato for {axis}." for n in range(5)]
        client.remember(
            [memory("fact", text) for text in texts], scope=crowded, axes={**everybody, axis: f"rare-{axis}"}
        )
    return crowded


@MODES
@pytest.mark.parametrize("axis", AXES)
def test_c6_c16_what_is_rare_is_found_among_many_better_matches(
    client: Client, crowd: common_pb2.Scope, axis: str, mode: str
) -> None:
    everybody = {name: f"common-{name}" for name in AXES}
    query = "when does the harbour bell ring?"
    answer = client.recall(query, scope=crowd, mode=mode, axes={**everybody, axis: f"rare-{axis}"}, top_k=5)
    assert sorted(contents(answer)) == [f"Note {n} about a potato for {axis}." for n in range(5)]
    tiers = {ACTIVE, DEEP} if mode == "deep" else {ACTIVE}
    assert all(set(hit.found_by) == tiers for hit in hits(answer))
    common = client.recall(query, scope=crowd, mode=mode, axes=everybody, top_k=50)
    assert not [text for text in contents(common) if "potato" in text]


@MODES
def test_p5_the_three_states_of_the_project(client: Client, org: common_pb2.Scope, mode: str) -> None:
    texts = {"": "The kettle is shared.", "A": "The kettle of A is red.", "B": "The kettle of B is blue."}
    for project, text in texts.items():
        client.remember([memory("fact", text)], scope=org, axes={"project_id": project})

    def seen(**axes: str) -> set[str]:
        return set(contents(client.recall("kettle", scope=org, mode=mode, axes=axes)))

    assert seen() == set(texts.values())
    assert seen(project_id="") == {texts[""]}
    assert seen(project_id="A") == {texts[""], texts["A"]}
    assert seen(project_id="C") == {texts[""]}


@MODES
def test_p11_a8_an_unset_agent_is_the_default_agent_and_sees_no_other(
    client: Client, org: common_pb2.Scope, mode: str
) -> None:
    for agent in (None, "ada", "Ada"):
        client.remember(
            [memory("fact", f"The seal of {agent}.")], scope=org, axes={"agent_id": agent} if agent else None
        )
    for axes in (None, {"agent_id": ""}, {"agent_id": "default-agent"}):
        assert contents(client.recall("seal", scope=org, mode=mode, axes=axes)) == ["The seal of None."]
    assert contents(client.recall("seal", scope=org, mode=mode, axes={"agent_id": "ada"})) == ["The seal of ada."]


@MODES
def test_a_source_is_a_literal_prefix(client: Client, org: common_pb2.Scope, mode: str) -> None:
    for source in ("wiki/a", "wiki/b", "Wiki/a", "w%", "my wiki/a", ""):
        client.remember([memory("fact", f"Page from '{source}'.")], scope=org, axes={"source_id": source})

    def seen(source: str) -> list[str]:
        return sorted(contents(client.recall("page", scope=org, mode=mode, axes={"source_id": source})))

    assert seen("wiki/") == ["Page from 'wiki/a'.", "Page from 'wiki/b'."]
    assert seen("w%") == ["Page from 'w%'."]
    assert seen("_iki") == []
    # T25: what only holds the prefix does not begin with it.
    assert seen("my wiki/") == ["Page from 'my wiki/a'."]
    assert len(seen("")) == 6


@MODES
def test_p8_p9_channels_sources_and_episodes(client: Client, open_session: OpenSession, scope: str, mode: str) -> None:
    for channel in ("c1", "c2"):
        axes = {"channel": channel, "source_id": f"u1/{channel}"}
        session = open_session(axes=axes)
        client.remember(
            [memory("fact", f"The beacon of {channel} is lit.")], scope=scope, session_id=session.session_id
        )
        session.cover(session.opening.retrieval_id)
        client.commit(
            session.session_id, scope=scope, final_goal=f"Light the beacon of {channel}", outcome="success",
            outcome_summary="It burns.",
        )  # fmt: skip
    client.remember([memory("fact", "The beacon of nobody is dark.")], scope=scope)
    reader = open_session()

    def seen(**axes: str) -> set[str]:
        answer = reader.recall("the beacon", mode, axes=axes, evidence="full")
        assert all(hit.axes.channel in ("", axes.get("channel", hit.axes.channel)) for hit in hits(answer))
        shown = {hit.memory_id.partition("_")[0] + hit.axes.channel for hit in hits(answer)}
        assert {e.evidence_id.replace("evt_", "").replace("ep_", "") for e in answer.evidence} <= {
            hit.memory_id.partition("_")[2] for hit in hits(answer)
        }
        return shown

    assert seen() == {"schc1", "schc2", "epc1", "epc2", "sch"}
    assert seen(channel="c1") == {"schc1", "epc1", "sch"}
    assert seen(source_id="u1") == {"schc1", "schc2"}
    assert seen(source_id="u1", channel="c1") == {"schc1", "epc1"}


@MODES
def test_a_session_lends_agent_user_and_project_and_any_axis_lifts_each(
    client: Client, open_session: OpenSession, scope: str, mode: str
) -> None:
    own = {
        "agent_id": "scout",
        "user_id": "ann",
        "project_id": "P",
        "conversation_id": "c9",
        "channel": "k",
        "source_id": "s",
    }
    for axes in (own, {**own, "user_id": "bob"}, {**own, "project_id": "Q"}, {"user_id": "ann"}):
        client.remember([memory("fact", f"Tent of {sorted(axes.items())}.")], scope=scope, axes=axes)
    session = open_session(axes=own)

    def seen(**more: object) -> list[tuple[str, str, str]]:
        found = hits(session.recall("tent", mode, **more))
        return sorted((hit.axes.agent_id, hit.axes.user_id, hit.axes.project_id) for hit in found)

    mine = ("scout", "ann", "P")
    assert seen() == [mine]
    assert seen(any_axis=["user_id"]) == [mine, ("scout", "bob", "P")]
    assert seen(any_axis=["project_id"]) == [mine, ("scout", "ann", "Q")]
    default = ("default-agent", "ann", "")
    assert seen(any_axis=["agent_id"]) == [default, mine]
    assert seen(any_axis=["agent_id", "project_id"]) == [default, mine, ("scout", "ann", "Q")]
    assert seen(axes={"user_id": "eve"}, any_axis=["user_id"]) == [mine, ("scout", "bob", "P")]
    assert seen(axes={"user_id": "bob"}) == [("scout", "bob", "P")]
    # The ledger's session is no axis: what other sessions wrote is there, and its other axes do not filter.
    assert seen(axes={"conversation_id": "c9"}) == [mine]
    assert seen(axes={"conversation_id": "other"}) == []


@MODES
def test_a4_a14_kinds_types_and_times_bound_all_hits(client: Client, org: common_pb2.Scope, mode: str) -> None:
    old, new = datetime(2020, 5, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC)
    client.remember(
        [
            memory("fact", "Quentin's mill stands still.", occurred_at=old),
            memory("decision", "Quentin's mill runs again.", occurred_at=new),
        ],
        scope=org,
    )
    client.record_turns(
        [turn("Quentin's mill is loud.", name="Quentin", timestamp=new), turn("So it is.", name="Ria", timestamp=old)],
        scope=org,
    )
    everything = set(contents(client.recall("Quentin's mill", scope=org, mode=mode)))
    assert len(everything) == 4

    def seen(**bounds: object) -> set[str]:
        found = set(contents(client.recall("Quentin's mill", scope=org, mode=mode, **bounds)))  # type: ignore[arg-type]
        assert found <= everything
        return found

    assert seen(kinds=["turn"]) == {"Quentin's mill is loud.", "So it is."}
    assert seen(types=["decision"]) == {"Quentin's mill runs again."}
    assert seen(kinds=["turn"], types=["decision"]) == set()
    assert seen(occurred_after=new) == {"Quentin's mill runs again.", "Quentin's mill is loud."}
    assert seen(occurred_before=old) == {"Quentin's mill stands still.", "So it is."}
    assert (
        seen(occurred_after=datetime(2021, 1, 1, tzinfo=UTC), occurred_before=datetime(2022, 1, 1, tzinfo=UTC)) == set()
    )


def test_a_tenants_user_and_conversation_are_axes(client: Client, scope: str) -> None:
    org = scope.partition(":")[2]
    client.remember([memory("fact", "Ada's first talk.")], scope=tenant(org, user_id="ada", session_id="1"))
    client.remember(
        [memory("fact", "Ada's second talk.")], scope=tenant(org, user_id="ada"), axes={"conversation_id": "2"}
    )
    assert contents(client.recall("talk", scope=tenant(org, user_id="ada", session_id="1"))) == ["Ada's first talk."]
    assert contents(client.recall("talk", scope=tenant(org), axes={"conversation_id": "2"})) == ["Ada's second talk."]
    with pytest.raises(ClientError) as refused:
        client.recall("talk", scope=tenant(org, user_id="ada"), axes={"user_id": "bob"})
    assert refused.value.violations[0].field == "axes.user_id"


def test_both_scope_forms_reach_the_same_partition(client: Client, scope: str, open_session: OpenSession) -> None:
    org = scope.partition(":")[2]
    client.remember([memory("fact", "Written by the tenant.")], scope=tenant(org))
    assert contents(open_session(f"org:{org}").recall("written by whom?")) == ["Written by the tenant."]


def test_a_tenant_recall_ignores_a_session_and_says_so(client: Client, org: common_pb2.Scope) -> None:
    answer = client.recall("anything", scope=org, session_id="whatever")
    assert [warning.code for warning in answer.warnings] == [common_pb2.WARNING_CODE_SESSION_ID_IGNORED]
    taken = client.feedback(answer.retrieval_id, remaining="not_used", coverage="complete")
    assert not taken.results[0].rejected


def test_s41_a_scope_that_looks_like_another_is_warned_about_while_it_is_new(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    written = f"{scope}-My_Repo"
    client.remember([memory("fact", "Here.")], scope=written)
    code = common_pb2.WARNING_CODE_SCOPE_FRAGMENTATION
    for near in (f"{scope}-my-repo", f"{scope}_My-Repo"):
        opening = open_session(near).opening
        assert [warning.code for warning in opening.warnings] == [code]
        assert written in opening.warnings[0].message
        assert [w.code for w in open_session(near).recall("x").warnings] == [code]
        assert contents(open_session(near).recall("here")) == []
    assert not open_session(f"{scope}-myrepo").opening.warnings
    client.remember([memory("fact", "There.")], scope=f"{scope}-my-repo")
    assert not open_session(f"{scope}-my-repo").opening.warnings


def test_scope_known_tells_a_new_scope_from_one_where_nothing_fits(client: Client, org: common_pb2.Scope) -> None:
    assert not client.recall("anything", scope=org).scope_known
    client.remember([memory("fact", "Something.")], scope=org, axes={"user_id": "ada"})
    nothing = client.recall("anything", scope=org, axes={"user_id": "bob"})
    assert nothing.scope_known
    assert hits(nothing) == []
