"""Feedback over the wire: what is accepted, rejected, covered and taught."""

from __future__ import annotations

from typing import Any

import pytest

from remembrancer.client import (
    Client,
    InvalidArgument,
    NotFound,
    memory,
    memory_feedback,
    procedure_feedback,
    reason_of,
    tenant,
)
from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import parse_retrieval
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from tests.service import OpenSession, Session, answered, contents, hits

COMPLETE = session_pb2.COVERAGE_COMPLETE
PARTIAL = session_pb2.COVERAGE_PARTIAL
TEXTS = [
    "The ferry to Skerry leaves at seven.",
    "The ferry to Skerry carries forty cars.",
    "The ferry to Skerry was built in 1998.",
]
QUESTION = "the ferry to Skerry"


@pytest.fixture
def session(client: Client, scope: str, open_session: OpenSession) -> Session:
    client.remember([memory("fact", text) for text in TEXTS], scope=scope)
    return open_session()


def ids(answer: recall_pb2.RecallResponse) -> list[str]:
    """Return the ids of the three texts, in the order in which they were written."""
    by_text = {hit.content: hit.memory_id for hit in hits(answer)}
    return [by_text[text] for text in TEXTS]


def rejections(result: session_pb2.FeedbackResult) -> list[tuple[str, str, str]]:
    prefix = len("FEEDBACK_REJECTION_")
    return [(r.target_id, session_pb2.FeedbackRejection.Name(r.reason)[prefix:], r.field) for r in result.rejected]


def learned(stored: Any, scope: str, memory_id: str) -> store_pb2.Learned:
    raw = stored.hget(PartitionKeys(partition_of(scope)).learned, memory_id.rpartition("_")[2])
    return store_pb2.Learned.FromString(raw or b"")


@pytest.mark.essential
def test_s8_complete_with_one_missing_names_it(client: Client, session: Session) -> None:
    answer = session.recall(QUESTION)
    one, two, three = ids(answer)
    entries = [memory_feedback(one, "used"), memory_feedback(two, "irrelevant")]
    result = answered(client, answer.retrieval_id, memory_feedback=entries, coverage="complete")
    assert (result.coverage, result.accepted, list(result.outstanding)) == (PARTIAL, 2, [three])
    assert rejections(result) == [("", "INCOMPLETE_COVERAGE", "coverage")]
    assert result.applied.strengthened == 1
    entries = [memory_feedback(three, "already_known")]
    result = client.feedback(answer.retrieval_id, memory_feedback=entries, coverage="complete").results[0]
    assert (result.coverage, list(result.rejected)) == (COMPLETE, [])


def test_s10_feedback_on_what_was_never_shown_changes_nothing(
    client: Client, scope: str, session: Session, stored: Any
) -> None:
    answer = session.recall(QUESTION, kinds=["turn"])
    shown = session.recall(QUESTION)
    entry = memory_feedback(ids(shown)[0], "used")
    result = client.feedback(answer.retrieval_id, memory_feedback=[entry]).results[0]
    assert rejections(result) == [(entry.memory_id, "TARGET_NOT_EXPOSED", "memory_feedback[0].memory_id")]
    assert result.accepted == 0
    assert learned(stored, scope, entry.memory_id) == store_pb2.Learned()


def test_s12_a_change_of_mind_takes_the_gain_back_and_two_retrievals_count_twice(
    client: Client, scope: str, session: Session, stored: Any
) -> None:
    first, second = session.recall(QUESTION), session.recall(QUESTION)
    one = ids(first)[0]
    for answer in (first, second):
        client.feedback(answer.retrieval_id, memory_feedback=[memory_feedback(one, "used")])
    assert learned(stored, scope, one).helped == 2
    again = client.feedback(first.retrieval_id, memory_feedback=[memory_feedback(one, "used")]).results[0]
    assert (again.accepted, again.applied.unchanged, again.applied.strengthened) == (1, 1, 0)
    result = client.feedback(first.retrieval_id, memory_feedback=[memory_feedback(one, "irrelevant")]).results[0]
    assert result.applied.weakened == 1
    assert learned(stored, scope, one).helped == 1


def test_s13_each_flaw_of_a_stale_entry_has_its_own_rejection(client: Client, scope: str, session: Session) -> None:
    answer = session.recall(QUESTION)
    one, two, three = ids(answer)
    far_away = [memory("fact", f"Far away, {i} miles.") for i in range(20)]
    elsewhere = client.remember(far_away, scope=f"{scope}-other").results[-1].memory_id
    retired = memory_feedback(three, "stale", stale_reason="withdrawn", reason="scrapped")
    client.feedback(answer.retrieval_id, memory_feedback=[retired])
    flaws = {
        "REASON_INVALID": memory_feedback(one, "stale", stale_reason="outdated"),
        "STALE_REASON_INVALID": memory_feedback(one, "stale", stale_reason=77, reason="r"),
        "REPLACEMENT_REQUIRED": memory_feedback(one, "stale", stale_reason="superseded", reason="r"),
        "REPLACEMENT_IS_SELF": replaced(one, one),
        "REPLACEMENT_NOT_FOUND": replaced(one, "sch_123456"),
        "REPLACEMENT_NOT_FOUND, other scope": replaced(one, elsewhere),
        "REPLACEMENT_NOT_ACTIVE": replaced(one, three),
    }
    for name, entry in flaws.items():
        reason = name.partition(",")[0]
        sibling = memory_feedback(two, "used", effect="no_effect")
        result = client.feedback(answer.retrieval_id, memory_feedback=[entry, sibling]).results[0]
        assert [(target, why) for target, why, _ in rejections(result)] == [(one, reason)]
        assert result.rejected[0].hint
        assert result.accepted == 1


def replaced(target: str, by: str) -> session_pb2.MemoryFeedback:
    return memory_feedback(target, "stale", stale_reason="superseded", reason="r", replacement_memory_id=by)


@pytest.mark.essential
def test_s14_a_replaced_memory_gives_way_in_both_tiers(client: Client, scope: str, session: Session) -> None:
    (new,) = client.remember([memory("fact", "The ferry to Skerry leaves at eight since May.")], scope=scope).results
    answer = session.recall(QUESTION)
    old = ids(answer)[0]
    result = client.feedback(answer.retrieval_id, memory_feedback=[replaced(old, new.memory_id)]).results[0]
    assert (result.accepted, result.applied.staled) == (1, 1)
    for mode in ("active", "deep"):
        after = [hit.memory_id for hit in hits(session.recall("when does the ferry to Skerry leave?", mode))]
        assert old not in after
        assert new.memory_id in after
    shown = {hit.memory_id: hit for hit in hits(session.recall(QUESTION, include_superseded=True))}
    assert shown[old].status == common_pb2.MEMORY_STATUS_STALE
    assert shown[old].stale_reason == common_pb2.STALE_REASON_SUPERSEDED
    assert shown[new.memory_id].status == common_pb2.MEMORY_STATUS_ACTIVE


def test_an_accepted_stale_is_final_in_its_retrieval_and_for_the_memory(client: Client, session: Session) -> None:
    first, second = session.recall(QUESTION), session.recall(QUESTION)
    one = ids(first)[0]
    stale = memory_feedback(one, "stale", stale_reason="contradicted", reason="no")
    client.feedback(first.retrieval_id, memory_feedback=[stale])
    taken_back = client.feedback(first.retrieval_id, memory_feedback=[memory_feedback(one, "used")]).results[0]
    assert rejections(taken_back)[0][1] == "STALE_IS_FINAL"
    # A retrieval made before still takes its own assessment; the memory stays stale.
    assert client.feedback(second.retrieval_id, memory_feedback=[memory_feedback(one, "used")]).results[0].accepted
    assert TEXTS[0] not in contents(session.recall(QUESTION))


def test_s16_an_irrelevant_memory_comes_back_for_its_question(client: Client, session: Session) -> None:
    answer = session.recall(QUESTION)
    client.feedback(answer.retrieval_id, remaining="irrelevant", coverage="complete")
    assert ids(session.recall(QUESTION)) == ids(answer)


def test_s17_an_unknown_number_inside_an_entry_is_that_entry_s_trouble(client: Client, session: Session) -> None:
    answer = session.recall(QUESTION)
    one, two, three = ids(answer)
    entries = [memory_feedback(one, 99), memory_feedback(two, "used", effect=99), memory_feedback(three, "not_used")]
    result = answered(client, answer.retrieval_id, memory_feedback=entries, coverage="complete")
    assert rejections(result) == [
        (one, "ASSESSMENT_INVALID", "memory_feedback[0].assessment"),
        (two, "EFFECT_INVALID", "memory_feedback[1].effect"),
        ("", "INCOMPLETE_COVERAGE", "coverage"),
    ]
    assert result.accepted == 1
    for field in ("coverage", "remaining", "retrieval_quality"):
        with pytest.raises(InvalidArgument) as refused:
            client.feedback(answer.retrieval_id, **{field: 99})  # type: ignore[arg-type]
        assert refused.value.violations[0].field == field


def test_s26_feedback_after_the_commit_teaches_and_reopens_nothing(
    client: Client, scope: str, session: Session
) -> None:
    answer = session.recall(QUESTION)
    one = ids(answer)[0]
    session.cover(session.opening.retrieval_id)
    session.cover(answer.retrieval_id)
    session.commit()
    result = client.feedback(answer.retrieval_id, memory_feedback=[memory_feedback(one, "used")]).results[0]
    assert (result.coverage, result.applied.strengthened) == (COMPLETE, 1)
    assert session.ledger().state == session_pb2.SESSION_STATE_COMMITTED


def test_what_was_forgotten_stays_assessable_and_teaches_nothing(
    client: Client, scope: str, session: Session, stored: Any
) -> None:
    answer = session.recall(QUESTION)
    one, two, _ = ids(answer)
    keys = PartitionKeys(partition_of(scope))
    stored.hdel(keys.records, one[4:], two[4:])
    entries = [memory_feedback(one, "used"), memory_feedback(two, "stale", stale_reason="withdrawn", reason="gone")]
    result = client.feedback(
        answer.retrieval_id, memory_feedback=entries, remaining="not_used", coverage="complete"
    ).results[0]
    assert (result.coverage, result.accepted) == (COMPLETE, 3)
    assert (result.applied.strengthened, result.applied.staled, result.applied.linked) == (0, 0, 0)
    assert not stored.hexists(keys.learned, one[4:])
    assert not stored.hexists(keys.records, two[4:])


def test_helped_lifts_and_harmed_lowers_in_both_tiers_within_the_bonus(client: Client, session: Session) -> None:
    answer = session.recall(QUESTION)
    one, two, three = ids(answer)
    modes = ("active", "deep")
    hits_before = {mode: {hit.memory_id: hit for hit in hits(session.recall(QUESTION, mode))} for mode in modes}
    entries = [memory_feedback(one, "used"), memory_feedback(two, "used", effect="harmed")]
    client.feedback(answer.retrieval_id, memory_feedback=entries)
    for mode, before in hits_before.items():
        after = {hit.memory_id: hit for hit in hits(session.recall(QUESTION, mode))}
        assert after[one].score > before[one].score
        assert after[two].score < before[two].score
        assert abs(after[three].score - before[three].score) <= 0.001
        assert all(hit.relevance <= hit.score <= hit.relevance + 0.05 for hit in after.values())
        assert after[one].relevance == before[one].relevance


@pytest.mark.essential
def test_memories_used_together_lead_to_each_other_in_the_deep_tier(client: Client, scope: str) -> None:
    pair = ["Perpetua tunes the harpsichord.", "The cellar key hangs behind the clock."]
    noise = [f"Note {i}: the {word} is blue." for i, word in enumerate(["roof", "gate", "boat", "cup", "hat", "door"])]
    client.remember([memory("fact", text) for text in (*pair, *noise)], scope=scope)
    opened = client.activate("t", "g", scope=scope)

    def reached() -> list[recall_pb2.Hit]:
        answer = client.recall("Perpetua harpsichord", scope=scope, session_id=opened.session_id, mode="deep", top_k=1)
        return [hit for hit in hits(answer) if hit.content == pair[1]]

    assert reached() == []
    answer = client.recall("Perpetua harpsichord cellar key clock", scope=scope, session_id=opened.session_id)
    by_text = {hit.content: hit.memory_id for hit in hits(answer)}
    entries = [memory_feedback(by_text[text], "used") for text in pair]
    result = client.feedback(answer.retrieval_id, memory_feedback=entries).results[0]
    assert result.applied.linked == 1
    (hit,) = reached()
    assert hit.pathway == recall_pb2.PATHWAY_ASSOCIATED
    assert hit.why[-1] == f"used together with {by_text[pair[0]]}"
    # Taken back, the edge goes.
    client.feedback(answer.retrieval_id, memory_feedback=[memory_feedback(by_text[pair[1]], "not_used")])
    assert reached() == []


def test_stateless_retrievals_take_feedback_that_nothing_waits_for(client: Client, scope: str, stored: Any) -> None:
    org = tenant(scope.partition(":")[2])
    client.remember([memory("fact", text) for text in TEXTS], scope=org)
    answer = client.recall(QUESTION, scope=org, session_id="ignored")
    result = client.feedback(
        answer.retrieval_id, memory_feedback=[memory_feedback(ids(answer)[0], "used")], remaining="not_used"
    ).results[0]
    assert (result.coverage, result.accepted, result.applied.strengthened) == (PARTIAL, 3, 1)
    ref = parse_retrieval(answer.retrieval_id)
    assert ref is not None
    assert not stored.exists(PartitionKeys(ref.partition).uncovered(ref.ledger))


def item(retrieval_id: str, *entries: session_pb2.MemoryFeedback, **more: Any) -> session_pb2.FeedbackItem:
    return session_pb2.FeedbackItem(retrieval_id=retrieval_id, memory_feedback=entries, **more)


@pytest.mark.essential
def test_a_batch_is_answered_one_by_one(
    client: Client, scope: str, session: Session, open_session: OpenSession
) -> None:
    other = open_session()
    first, second = session.recall(QUESTION), other.recall(QUESTION)
    one = ids(first)[0]
    complete = session_pb2.COVERAGE_DECLARATION_COMPLETE
    not_used = session_pb2.MEMORY_ASSESSMENT_NOT_USED
    unknown = first.retrieval_id[:-3] + "aaa"
    response = client.feedback(
        items=[
            item(first.retrieval_id, memory_feedback(one, "used"), coverage=complete, remaining=not_used),
            item(unknown, memory_feedback(one, "used")),
            item("rubbish"),
            item(second.retrieval_id, memory_feedback(one, "used"), memory_feedback("sch_77777", "used")),
        ]
    )
    good, missing, malformed, partial = response.results
    assert (good.retrieval_id, good.coverage, good.accepted) == (first.retrieval_id, COMPLETE, 3)
    for result in (missing, malformed):
        assert reason_of(result.error) == "RETRIEVAL_NOT_FOUND"
        assert result.coverage == session_pb2.COVERAGE_UNSPECIFIED
    assert (missing.retrieval_id, malformed.retrieval_id) == (unknown, "rubbish")
    assert (partial.coverage, partial.accepted) == (PARTIAL, 1)
    assert rejections(partial) == [("sch_77777", "TARGET_NOT_EXPOSED", "items[3].memory_feedback[1].memory_id")]
    assert session.ledger().uncovered_count == 1
    assert other.ledger().uncovered_count == 2


def test_a_batch_of_nothing_known_fails_item_by_item(client: Client) -> None:
    results = client.feedback(items=[item("a"), item("b")]).results
    assert [reason_of(result.error) for result in results] == ["RETRIEVAL_NOT_FOUND"] * 2


def test_a_batch_is_one_scope_and_each_retrieval_once(
    client: Client, scope: str, session: Session, open_session: OpenSession
) -> None:
    first = session.opening.retrieval_id
    elsewhere = open_session(f"{scope}-other").opening.retrieval_id
    for field, items in (
        ("items", [item(first), item(elsewhere)]),
        ("items[1].retrieval_id", [item(first), item(first)]),
        ("items[1].retrieval_id", [item(first), item("")]),
        ("items", [item(f"r{i}") for i in range(101)]),
    ):
        with pytest.raises(InvalidArgument) as refused:
            client.feedback(items=items)
        assert refused.value.violations[0].field == field
    with pytest.raises(InvalidArgument) as refused:
        client.feedback(first, items=[item(first)])
    assert refused.value.violations[0].field == "items"


def test_a_call_that_names_no_retrieval(client: Client) -> None:
    with pytest.raises(InvalidArgument) as refused:
        client.feedback("")
    assert refused.value.violations[0].field == "retrieval_id"
    with pytest.raises(NotFound) as missing:
        client.feedback("x" * 10_000)
    assert missing.value.reason == "RETRIEVAL_NOT_FOUND"
    assert len(missing.value.message) < 400


def test_entries_go_where_they_belong(client: Client, session: Session) -> None:
    answer = session.recall(QUESTION)
    one = ids(answer)[0]
    result = client.feedback(
        answer.retrieval_id,
        memory_feedback=[memory_feedback("proc_1", "used")],
        procedure_feedback=[procedure_feedback(one, "used", effect="helped", contribution="c")],
    ).results[0]
    assert [why for _, why, _ in rejections(result)] == ["TARGET_NOT_EXPOSED", "TARGET_NOT_EXPOSED"]
