"""GetContents: whole texts by id, in order, within a budget."""

from __future__ import annotations

import pytest

from remembrancer.client import Client, InvalidArgument, NotFound, memory, tenant, turn
from tests.service import OpenSession


def long_text(letter: str, length: int = 16000) -> str:
    """Return one word that the tokenizer gives up on: long for a budget, cheap to embed."""
    return letter * length


def test_p39_twenty_ids_are_the_most(client: Client, scope: str) -> None:
    written = client.remember([memory("fact", f"Shelf {i} is full.") for i in range(20)], scope=scope)
    ids = [result.memory_id for result in written.results]
    answer = client.get_contents(ids[::-1], scope=scope)
    assert [c.memory_id for c in answer.contents] == ids[::-1]
    assert [c.content for c in answer.contents] == [f"Shelf {i} is full." for i in reversed(range(20))]
    for wrong in ([], [*ids, "sch_99"]):
        with pytest.raises(InvalidArgument) as refused:
            client.get_contents(wrong, scope=scope)
        assert [v.field for v in refused.value.violations] == ["memory_ids"]


def test_p39_what_does_not_fit_is_deferred(client: Client, scope: str) -> None:
    texts = [long_text("a"), long_text("b"), long_text("c"), "short enough"]
    written = client.remember([memory("fact", text) for text in texts], scope=scope)
    ids = [result.memory_id for result in written.results]
    answer = client.get_contents(ids, scope=scope)
    assert [c.content for c in answer.contents] == [texts[0], texts[1], texts[3]]
    assert list(answer.deferred) == [ids[2]]
    assert [c.content for c in client.get_contents([ids[2]], scope=scope).contents] == [texts[2]]


def test_p39_ids_that_are_none_are_missing(client: Client, scope: str) -> None:
    client.remember([memory("fact", "The only one.")], scope=scope)
    wrong = ["sch_x", "ep_-1", "foo", "7", "sch_2", "ep_1", "proc_1", "sch_01"]
    answer = client.get_contents(wrong, scope=scope)
    assert list(answer.missing) == wrong
    assert not answer.contents
    assert list(client.get_contents(["sch_1"], scope=f"{scope}-other").missing) == ["sch_1"]


def test_p9_an_episode_that_its_source_hides_is_hidden_by_id_too(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    source, channel = {"source_id": "src/a"}, {"source_id": "src/a", "channel": "c1"}
    session = open_session(axes=channel)
    session.cover(session.opening.retrieval_id)
    episode = session.commit().episode_id
    assert list(client.get_contents([episode], scope=scope, axes=source).missing) == [episode]
    assert [c.memory_id for c in client.get_contents([episode], scope=scope, axes=channel).contents] == [episode]
    with pytest.raises(NotFound):
        client.forget(memory_id=episode, scope=scope, axes=source)
    with pytest.raises(NotFound):
        client.restore_memory(episode, scope=scope, axes=source)


def test_evidence_of_a_statement_and_turns_have_texts(client: Client, scope: str) -> None:
    client.remember([memory("fact", "A statement.")], scope=scope)
    client.record_turns([turn("A turn.", name="Ida", timestamp="2024-03-10T10:00:00+09:00")], scope=scope)
    answer = client.get_contents(["evt_1", "evt_2", "sch_2"], scope=scope)
    assert [(c.memory_id, c.content) for c in answer.contents] == [("evt_1", "A statement."), ("evt_2", "A turn.")]
    assert list(answer.missing) == ["sch_2"]
    assert answer.contents[1].name == "Ida"
    assert answer.contents[1].occurred_at.ToJsonString() == "2024-03-10T01:00:00Z"


def test_p11_another_agents_memory_is_missing(client: Client, scope: str) -> None:
    client.remember([memory("fact", "Belongs to the cook.")], scope=scope, axes={"agent_id": "cook"})
    client.remember([memory("fact", "Belongs to nobody in particular.")], scope=scope)
    for axes in (None, {"agent_id": ""}, {"agent_id": "gardener"}):
        assert "sch_1" in client.get_contents(["sch_1", "sch_2"], scope=scope, axes=axes).missing
    assert client.get_contents(["sch_1"], scope=scope, axes={"agent_id": "cook"}).contents
    assert len(client.get_contents(["sch_1", "sch_2"], scope=scope, any_axis=["agent_id"]).contents) == 2


def test_a_tenants_user_cannot_be_lifted(client: Client, scope: str) -> None:
    org = scope.partition(":")[2]
    client.remember([memory("fact", "Ada's.")], scope=tenant(org, user_id="ada"))
    foreign = client.get_contents(["sch_1"], scope=tenant(org, user_id="bo"), any_axis=["user_id"])
    assert list(foreign.missing) == ["sch_1"]
