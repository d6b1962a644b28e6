"""Nothing of one scope shows in another."""

from __future__ import annotations

import pytest

from remembrancer.client import Client, ClientError, memory, name_of, tenant, turn
from tests.service import OpenSession, contents, hits


def test_s33_a5_equal_texts_and_names_do_not_leak(client: Client, open_session: OpenSession, scope: str) -> None:
    alpha, beta = f"{scope}-alpha", f"{scope}-beta"
    for where, word in ((alpha, "granite"), (beta, "limestone")):
        client.remember([memory("fact", f"Quentin builds the wall of {word}.")], scope=where)
        client.record_turns(
            [turn(f"Quentin met Ottilie-{word} at the quarry.", name="Quentin", msg_id="1")],
            scope=where,
            axes={"conversation_id": "c"},
        )
    for where, own, other in ((alpha, "granite", "limestone"), (beta, "limestone", "granite")):
        answer = open_session(where).recall("Quentin, the wall and Ottilie", "deep", top_k=50)
        assert contents(answer)
        assert all(own in text and other not in text for text in contents(answer))
        assert not any(other in entity.label for entity in answer.hits.entities)
        assert not any(other in evidence.content for evidence in answer.evidence)


@pytest.mark.parametrize("near", ["{scope}2", "{scope}:x", "TEST:{id}", "tests:{id}"])
def test_near_names_are_other_scopes(client: Client, scope: str, open_session: OpenSession, near: str) -> None:
    client.remember([memory("fact", "A secret of the first scope.")], scope=scope)
    session = open_session(near.format(scope=scope, id=scope.partition(":")[2]))
    assert contents(session.recall("a secret of the first scope", "deep")) == []


def test_s41_the_first_write_mentions_a_scope_that_looks_alike(client: Client, scope: str) -> None:
    assert not client.remember([memory("fact", "Rain.")], scope=f"{scope}-my_repo").warnings
    near = f"{scope}-My-Repo"
    written = client.record_turns([turn("Snow.", timestamp="2024-01-02")], scope=near, request_id="first")
    (warning,) = written.warnings
    assert name_of(warning, "code") == "scope_fragmentation"
    assert f"{scope}-my_repo" in warning.message
    assert client.record_turns([turn("Snow.", timestamp="2024-01-02")], scope=near, request_id="first") == written
    assert not client.remember([memory("fact", "Hail.")], scope=near).warnings


def test_s4_surrounding_white_space_does_not_matter(client: Client, scope: str, open_session: OpenSession) -> None:
    client.remember([memory("fact", "Found under both spellings.")], scope=f"  {scope} ")
    assert contents(open_session().recall("spellings")) == ["Found under both spellings."]


def test_d9_p53_odd_but_valid_scopes_work(client: Client, scope: str, open_session: OpenSession) -> None:
    for odd in (f"{scope}:my-repo.v2 {{x}}", f"{scope}/a:b:c", f"{scope} *?[]"):
        client.remember([memory("fact", "Kept in an odd place.")], scope=odd)
        assert contents(open_session(odd).recall("odd place", "deep")) == ["Kept in an odd place."]


def test_a_tenant_reads_without_a_session_and_only_its_own(client: Client, scope: str) -> None:
    org = scope.partition(":")[2]
    client.remember([memory("fact", "Ada likes tea.")], scope=tenant(org, user_id="ada"))
    client.remember([memory("fact", "Bo likes tea, too.")], scope=tenant(org, user_id="bo"))
    assert contents(client.recall("who likes tea?", scope=tenant(org, user_id="ada"))) == ["Ada likes tea."]
    assert len(contents(client.recall("who likes tea?", scope=tenant(org), mode="deep"))) == 2


def test_c6_filters_work_inside_the_search(client: Client, scope: str) -> None:
    org = scope.partition(":")[2]
    client.remember(
        [memory("fact", f"Bob drinks coffee number {number}.") for number in range(60)],
        scope=tenant(org, user_id="bob"),
    )
    client.remember(
        [memory("fact", f"Weather note {number}: rain.") for number in range(5)], scope=tenant(org, user_id="alice")
    )
    for mode in ("active", "deep"):
        answer = client.recall("Bob drinks coffee", scope=tenant(org, user_id="alice"), mode=mode, top_k=5)
        direct = [hit for hit in hits(answer) if hit.pathway == 1]
        assert len(direct) == 5
        assert all(hit.axes.user_id == "alice" for hit in hits(answer))


def test_b1_a_session_belongs_to_its_scope(scope: str, open_session: OpenSession, client: Client) -> None:
    session = open_session()
    with pytest.raises(ClientError) as refused:
        client.recall("anything", scope=f"{scope}-other", session_id=session.session_id)
    assert refused.value.reason == "SESSION_SCOPE_MISMATCH"
    # S2: the session stays usable.
    assert session.recall("anything").retrieval_id


def test_a_scope_never_written_to_is_no_error(client: Client, scope: str) -> None:
    answer = client.recall("anything", scope=tenant(scope))
    assert not answer.scope_known
    assert hits(answer) == []
    assert answer.confidence == 0
