"""A session from its opening to its commit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from remembrancer.cli.demo import conversation
from remembrancer.client import Client, ClientError, FeedbackIncompleteError, memory, memory_feedback
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from tests.service import OpenSession, Session, answered, contents, hits


def test_s5_a_new_scope_is_a_cold_start_and_its_empty_retrieval_must_be_covered(session: Session) -> None:
    assert session.opening.memory_state == session_pb2.MEMORY_STATE_COLD_START
    assert hits(session.opening) == []
    with pytest.raises(FeedbackIncompleteError) as refused:
        session.commit()
    assert [r.retrieval_id for r in refused.value.feedback_incomplete.retrievals] == [session.opening.retrieval_id]

    assert session.cover(session.opening.retrieval_id).coverage == session_pb2.COVERAGE_COMPLETE
    assert session.commit().state == session_pb2.SESSION_STATE_COMMITTED


def test_the_whole_way(client: Client, scope: str, open_session: OpenSession) -> None:
    written = client.remember(
        [
            memory("fact", "The staging database lives on host heron."),
            memory("decision", "Releases go out on Tuesdays."),
        ],
        scope=scope,
    )
    assert [r.disposition for r in written.results] == [1, 1]
    assert all(r.embedded for r in written.results)

    session = open_session()
    assert session.opening.memory_state == session_pb2.MEMORY_STATE_AVAILABLE
    answer = session.recall("where is the staging database?")
    assert contents(answer)[0] == "The staging database lives on host heron."
    best = hits(answer)[0]
    assert best.memory_id == written.results[0].memory_id
    assert best.pathway == recall_pb2.PATHWAY_DIRECT
    assert 0 < best.relevance <= best.score <= best.relevance + 0.05

    with pytest.raises(FeedbackIncompleteError) as refused:
        session.commit()
    detail = refused.value.feedback_incomplete
    assert refused.value.reason == "FEEDBACK_INCOMPLETE"
    assert detail.total == 2
    assert not detail.truncated
    assert [r.retrieval_id for r in detail.retrievals] == [session.opening.retrieval_id, answer.retrieval_id]
    assert set(detail.retrievals[1].outstanding) == {hit.memory_id for hit in hits(answer)}
    assert session.ledger().state == session_pb2.SESSION_STATE_OPEN
    assert session.ledger().uncovered_count == 2

    session.cover(session.opening.retrieval_id)
    result = client.feedback(
        answer.retrieval_id,
        memory_feedback=[memory_feedback(best.memory_id, "used", effect="helped")],
        remaining="irrelevant",
        coverage="complete",
    ).results[0]
    assert result.coverage == session_pb2.COVERAGE_COMPLETE
    assert result.applied.strengthened == 1
    done = session.commit()
    assert done.state == session_pb2.SESSION_STATE_COMMITTED
    assert done.outcome == common_pb2.OUTCOME_SUCCESS
    assert done.episode_id.startswith("ep_")
    assert session.ledger().episode_id == done.episode_id


def test_s6_partial_feedback_on_everything_still_needs_the_declaration(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    client.remember([memory("fact", "The lighthouse keeper is called Odd.")], scope=scope)
    session = open_session()
    session.cover(session.opening.retrieval_id)
    answer = session.recall("who keeps the lighthouse?")
    client.feedback(answer.retrieval_id, memory_feedback=[memory_feedback(hits(answer)[0].memory_id, "used")])
    with pytest.raises(FeedbackIncompleteError) as refused:
        session.commit()
    (missing,) = refused.value.feedback_incomplete.retrievals
    assert list(missing.outstanding) == []
    assert missing.outstanding_count == 0
    assert not missing.coverage_declared_complete


def test_s9_one_bad_entry_is_rejected_alone(client: Client, scope: str, open_session: OpenSession) -> None:
    texts = ["The ferry leaves at seven.", "The ferry carries forty cars."]
    client.remember([memory("fact", text) for text in texts], scope=scope)
    session = open_session()
    answer = session.recall("the ferry")
    good, bad = [hit.memory_id for hit in hits(answer)][:2]
    entries = [memory_feedback(good, "used"), memory_feedback(bad, 99), memory_feedback("sch_999999", "used")]
    result = answered(client, answer.retrieval_id, memory_feedback=entries, coverage="complete")
    assert result.accepted == 1
    assert result.coverage == session_pb2.COVERAGE_PARTIAL
    assert list(result.outstanding) == [bad]
    rejected = {(r.target_id, r.reason): r for r in result.rejected}
    assert (bad, session_pb2.FEEDBACK_REJECTION_ASSESSMENT_INVALID) in rejected
    assert ("sch_999999", session_pb2.FEEDBACK_REJECTION_TARGET_NOT_EXPOSED) in rejected
    assert ("", session_pb2.FEEDBACK_REJECTION_INCOMPLETE_COVERAGE) in rejected
    assert all(r.field and r.hint for r in result.rejected if r.target_id)
    assert session.cover(answer.retrieval_id).coverage == session_pb2.COVERAGE_COMPLETE


def test_s24_a_second_commit_updates_and_s26_late_feedback_is_accepted(session: Session) -> None:
    session.cover(session.opening.retrieval_id)
    first = session.commit()
    second = session.commit()
    assert second.operation == session_pb2.COMMIT_OPERATION_UPDATED
    assert second.episode_id == first.episode_id
    assert session.cover(session.opening.retrieval_id).coverage == session_pb2.COVERAGE_COMPLETE
    assert session.ledger().state == session_pb2.SESSION_STATE_COMMITTED


def test_s37_sessions_of_one_scope_commit_independently(open_session: OpenSession) -> None:
    one, other = open_session(), open_session()
    one.cover(one.opening.retrieval_id)
    assert one.commit().state == session_pb2.SESSION_STATE_COMMITTED
    with pytest.raises(FeedbackIncompleteError):
        other.commit()


def test_b19_no_recall_slips_past_a_commit(client: Client, scope: str, open_session: OpenSession) -> None:
    client.remember([memory("fact", "The kiln is hot.")], scope=scope)
    for _ in range(10):
        session = open_session()
        session.cover(session.opening.retrieval_id)
        with ThreadPoolExecutor(2) as pool:
            recall = pool.submit(lambda s=session: s.recall("kiln"))  # type: ignore[misc]
            commit = pool.submit(session.commit)
        recalled, committed = recall.exception(), commit.exception()
        if committed is None:
            assert isinstance(recalled, ClientError)
            assert recalled.reason == "SESSION_ENDED"
            assert session.ledger().uncovered_count == 0
        else:
            assert isinstance(committed, FeedbackIncompleteError)
            assert recalled is None


def test_a_retry_with_the_same_request_id_does_nothing_twice(client: Client, scope: str, session: Session) -> None:
    for _ in range(2):
        written = client.remember([memory("fact", "Once.")], scope=scope, request_id="write-1")
        assert written.results[0].disposition == 1
    first, again = session.recall("once", request_id="r-1"), session.recall("once", request_id="r-1")
    assert first == again
    assert session.ledger().retrieval_count == 2
    with pytest.raises(ClientError) as reused:
        session.recall("twice", request_id="r-1")
    assert reused.value.reason == "REQUEST_ID_REUSED"


def test_s34_the_same_recall_gives_the_same_answer(client: Client, scope: str, open_session: OpenSession) -> None:
    talk = conversation.load()
    for sitting in talk.sittings:
        client.record_turns(sitting.turns, scope=scope, axes={"conversation_id": sitting.conversation_id})
    session = open_session()
    for mode in ("active", "deep"):
        answers = [session.recall("What did the greyhound need?", mode, as_of=None) for _ in range(3)]
        ids = [[hit.memory_id for hit in hits(answer)] for answer in answers]
        assert ids[0] == ids[1] == ids[2]
        assert ids[0]


def test_the_graph_finds_what_words_and_meaning_do_not(client: Client, scope: str, open_session: OpenSession) -> None:
    talk = conversation.load()
    for sitting in talk.sittings:
        client.record_turns(sitting.turns, scope=scope, axes={"conversation_id": sitting.conversation_id})
    session = open_session()
    question = "What do we know about the greyhound that Ines adopted?"
    active, deep = session.recall(question, top_k=5), session.recall(question, "deep", top_k=5)
    assert not any("thyroid" in text or "one pill" in text for text in contents(active))
    (pill,) = [hit for hit in hits(deep) if "one pill every morning" in hit.content]
    assert pill.pathway == recall_pb2.PATHWAY_ASSOCIATED
    assert pill.why
    assert any("biscuit" in entity.label.lower() for entity in deep.hits.entities)
    assert len([hit for hit in hits(deep) if hit.pathway == recall_pb2.PATHWAY_DIRECT]) <= 5
