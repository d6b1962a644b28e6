"""Activate: what a new session starts from."""

from __future__ import annotations

from typing import Any

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.client import Client, ClientError, InvalidArgument, memory, reason_of
from remembrancer.v1 import common_pb2, session_pb2
from tests.service import OpenSession, Outage, contents, hits

KILN = "The kiln in workshop two reaches 1280 degrees."
OFF_TOPIC = "Which tram goes to the harbour on Sundays?"


def activate(client: Client, scope: str, **more: Any) -> session_pb2.ActivateResponse:
    return client.activate(
        more.pop("task", "fire the kiln in workshop two"), more.pop("goal", "glazed bowls"), scope=scope, **more
    )


def test_s5_cold_start(client: Client, scope: str) -> None:
    opened = activate(client, scope)
    assert opened.memory_state == session_pb2.MEMORY_STATE_COLD_START
    assert opened.continuity_state == session_pb2.CONTINUITY_STATE_STARTED
    assert (hits(opened), list(opened.procedures), list(opened.evidence)) == ([], [], [])
    assert opened.confidence == 0
    assert not opened.more_available
    assert opened.retrieval_id
    assert not opened.HasField("active_tier_error")
    assert opened.usage.tokens_in > 0
    assert opened.usage.tokens_out == 0


@pytest.mark.essential
def test_what_is_relevant_to_task_or_goal_comes_with_the_session(client: Client, scope: str) -> None:
    client.remember([memory("fact", KILN), memory("fact", "Glazed bowls need two firings.")], scope=scope)
    opened = activate(client, scope)
    assert opened.memory_state == session_pb2.MEMORY_STATE_AVAILABLE
    assert {hit.content for hit in hits(opened)} == {KILN, "Glazed bowls need two firings."}
    assert all(hit.relevance >= 0.3 for hit in hits(opened))
    assert len(opened.evidence) == 2


def test_s32_an_off_topic_task_gets_nothing_although_the_scope_is_full(client: Client, scope: str) -> None:
    client.remember([memory("fact", KILN)], scope=scope)
    opened = activate(client, scope, task=OFF_TOPIC, goal="a timetable")
    assert opened.memory_state == session_pb2.MEMORY_STATE_AVAILABLE
    assert hits(opened) == []


def test_more_available_says_that_the_floor_let_more_in(client: Client, scope: str) -> None:
    client.remember([memory("fact", f"Kiln log {i}: workshop two fired {i} bowls.") for i in range(8)], scope=scope)
    few = activate(client, scope, top_k=2)
    assert len(hits(few)) == 2
    assert few.more_available
    assert not activate(client, scope, top_k=50).more_available


def test_a_scope_whose_memories_are_all_stale_still_opens(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    client.remember([memory("fact", KILN)], scope=scope)
    opened = activate(client, scope)
    (hit,) = hits(opened)
    stale = session_pb2.MemoryFeedback(
        memory_id=hit.memory_id,
        assessment=session_pb2.MEMORY_ASSESSMENT_STALE,
        stale_reason=common_pb2.STALE_REASON_WITHDRAWN,
        reason="sold",
    )
    client.feedback(opened.retrieval_id, memory_feedback=[stale], coverage="complete")
    again = activate(client, scope)
    assert again.memory_state == session_pb2.MEMORY_STATE_COLD_START
    assert hits(again) == []


@pytest.mark.essential
def test_s36_a_conversation_goes_on(client: Client, scope: str) -> None:
    first = activate(client, scope)
    second = activate(client, scope, continuity_id=first.continuity_id)
    assert second.continuity_state == session_pb2.CONTINUITY_STATE_CONTINUED
    assert second.continuity_id == first.continuity_id
    assert second.session_id != first.session_id
    # It reopens nothing, and its end ends nothing.
    client.abandon_session(second.session_id, scope=scope)
    assert client.get_session(first.session_id, scope=scope).state == session_pb2.SESSION_STATE_OPEN
    third = activate(client, scope, continuity_id=first.continuity_id)
    assert third.continuity_state == session_pb2.CONTINUITY_STATE_CONTINUED


@pytest.mark.parametrize("odd", ["", " ", "con_unknown", "con_aaaaaaaaaaaaaaaa", "x" * 5000, "con_\x00"])
def test_s36_unknown_and_malformed_continuity_ids_are_refused_alike(client: Client, scope: str, odd: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        activate(client, scope, continuity_id=odd)
    assert refused.value.violations[0].field == "continuity_id"
    assert "aaaa" not in refused.value.message


def test_s36_a_continuity_id_of_another_scope_is_unknown_here(client: Client, scope: str) -> None:
    elsewhere = activate(client, f"{scope}-other")
    with pytest.raises(InvalidArgument) as refused:
        activate(client, scope, continuity_id=elsewhere.continuity_id)
    assert refused.value.violations[0].field == "continuity_id"


@pytest.mark.essential
def test_s41_a_name_like_another_scope_s_is_mentioned_on_cold_start_only(client: Client, scope: str) -> None:
    client.remember([memory("fact", KILN)], scope=f"{scope}-my_repo")
    near = f"{scope}-My-Repo"
    (warning,) = activate(client, near).warnings
    assert warning.code == common_pb2.WARNING_CODE_SCOPE_FRAGMENTATION
    assert f"{scope}-my_repo" in warning.message
    assert hits(activate(client, near)) == []  # never a rewrite
    client.remember([memory("fact", KILN)], scope=near)
    assert list(activate(client, near).warnings) == []


def test_with_the_active_tier_down_the_session_opens_all_the_same(client: Client, scope: str, killed: Outage) -> None:
    client.remember([memory("fact", KILN)], scope=scope)
    with killed(Role.ACTIVE):
        opened = activate(client, scope)
    assert reason_of(opened.active_tier_error) == "TIER_UNREACHABLE"
    assert hits(opened) == []
    assert opened.memory_state == session_pb2.MEMORY_STATE_AVAILABLE
    # Its empty retrieval must be covered like any other.
    with pytest.raises(ClientError) as refused:
        client.commit(opened.session_id, scope=scope, final_goal="g", outcome="success", outcome_summary="s")
    assert refused.value.reason == "FEEDBACK_INCOMPLETE"
    client.feedback(opened.retrieval_id, coverage="complete")
    client.commit(opened.session_id, scope=scope, final_goal="g", outcome="success", outcome_summary="s")


def test_with_the_encoder_down_it_searches_by_words(client: Client, scope: str, killed: Outage) -> None:
    client.remember([memory("fact", KILN)], scope=scope)
    with killed(Role.ENCODER):
        opened = activate(client, scope, task="workshop two", goal="a kiln of 1280 degrees")
        empty = activate(client, f"{scope}-new")
    assert reason_of(opened.active_tier_error) == "ENCODER_UNAVAILABLE"
    assert [hit.content for hit in hits(opened)] == [KILN]
    assert empty.memory_state == session_pb2.MEMORY_STATE_COLD_START


def test_the_axes_of_a_session_are_the_defaults_of_its_calls(client: Client, scope: str) -> None:
    axes = {"agent_id": "smith", "user_id": "ada", "project_id": "bowls", "channel": "c1", "source_id": "s1"}
    opened = activate(client, scope, axes=axes)
    client.remember([memory("fact", KILN)], scope=scope, session_id=opened.session_id)
    client.remember([memory("fact", f"{KILN} So says Bo.")], scope=scope, axes={"agent_id": "smith", "user_id": "bo"})
    answer = client.recall("kiln", scope=scope, session_id=opened.session_id)
    (hit,) = hits(answer)
    assert hit.content == KILN
    assert {name: getattr(hit.axes, name) for name in axes} == axes
    both = client.recall("kiln", scope=scope, session_id=opened.session_id, any_axis=["user_id"])
    assert len(hits(both)) == 2
    # Channel and source never filter by default: records without them are found.
    client.remember(
        [memory("fact", "The kiln door sticks.")],
        scope=scope,
        axes={"agent_id": "smith", "user_id": "ada", "project_id": "bowls", "channel": "c9"},
    )
    assert "The kiln door sticks." in contents(client.recall("kiln", scope=scope, session_id=opened.session_id))


def test_a_path_scope_is_needed(client: Client) -> None:
    with pytest.raises(InvalidArgument) as refused:
        client.activate("t", "g", scope=common_pb2.Scope(tenant=common_pb2.TenantScope(org_id="o")))
    assert refused.value.violations[0].field == "scope.tenant"
