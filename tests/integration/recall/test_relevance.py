"""`relevance` is absolute: off-topic is low and identical is high on a store of any size; `min_score` tests it."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from bench import statements
from remembrancer.client import Client, memory, memory_feedback, tenant, turn
from remembrancer.model.fusion import RELEVANCE_FLOOR
from remembrancer.v1 import common_pb2, recall_pb2
from tests.service import OpenSession, contents, hits, unreadable

KNOWN = statements.load()
TEXTS = [statement for statement, _ in KNOWN.pairs]

SIZES = [1, 60, pytest.param(3000, marks=pytest.mark.long)]

Store = Callable[[int], common_pb2.Scope]


@pytest.fixture(scope="module")
def store(client: Client) -> Store:
    """Return the scope with so many statements, filled once."""
    filled: dict[int, common_pb2.Scope] = {}

    def of(size: int) -> common_pb2.Scope:
        if size not in filled:
            filled[size] = tenant(f"{size}-{uuid.uuid4()}")
            texts = (TEXTS + statements.filler(size))[:size]
            for start in range(0, size, 100):
                client.remember([memory("fact", text) for text in texts[start : start + 100]], scope=filled[size])
        return filled[size]

    return of


@pytest.mark.parametrize("mode", ["active", "deep"])
@pytest.mark.parametrize("size", SIZES)
def test_s32_d18_d19_an_off_topic_query_scores_low_on_any_store(
    client: Client, store: Store, size: int, mode: str
) -> None:
    for query in KNOWN.off_topic:
        answer = client.recall(query, scope=store(size), mode=mode)
        assert hits(answer) or unreadable(answer), "without a floor the nearest come, whatever their relevance"
        assert all(hit.relevance < RELEVANCE_FLOOR for hit in hits(answer)), query
        assert answer.confidence < 0.6
    assert hits(client.recall(KNOWN.off_topic[0], scope=store(size), mode=mode, min_score=0.3)) == []


@pytest.mark.parametrize("size", [60, pytest.param(3000, marks=pytest.mark.long)])
def test_most_questions_in_other_words_are_answered_above_the_floor(client: Client, store: Store, size: int) -> None:
    found = above = 0
    for statement, question in KNOWN.pairs:
        answer = client.recall(question, scope=store(size), top_k=3)
        found += statement in contents(answer)
        above += any(hit.content == statement and hit.relevance >= RELEVANCE_FLOOR for hit in hits(answer))
    assert found >= 0.9 * len(TEXTS)
    assert above >= 0.8 * len(TEXTS)


def test_a_question_that_says_when_is_answered_as_well_as_one_that_does_not(client: Client, scope: str) -> None:
    org = tenant(scope)
    client.remember(
        [memory("fact", text) for text in dict.fromkeys(statement for statement, _ in KNOWN.timed)], scope=org
    )
    for statement, question in KNOWN.timed:
        answer = client.recall(question, scope=org)
        best = hits(answer)[0]
        # Hits are ordered by relevance. Which of two versions of a fact is asked for is the probable answer's business.
        assert statement in (best.content, answer.probable_answer.text), question
        assert {hit.content: hit.relevance for hit in hits(answer)}[statement] >= RELEVANCE_FLOOR, question


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("What is yet-v2?", "The feature flag yet-v2 is on in production."),
        ("Where is deploy-now?", "The job deploy-now failed at night."),
        ("Where is the still?", "The still produces gin in the shed."),
        ("Who has seen Ever After?", "Ever After is a film about a shoe."),
        ("We are still not there yet!", "We are still not there yet"),
    ],
)
def test_p27_words_that_could_say_when_are_found_where_they_say_what(client: Client, query: str, best: str) -> None:
    org = tenant("when-and-what")
    texts = [
        "The feature flag yet-v2 is on in production.",
        "The feature flag now-v2 is on in production.",
        "The feature flag v2 is on in production.",
        "The job deploy-now failed at night.",
        "The job deploy- has no suffix.",
        "The still produces gin in the shed.",
        "Ever After is a film about a shoe.",
        "We are still not there yet",
        "Nobody was there then.",
    ]
    client.remember([memory("fact", text) for text in texts], scope=org)
    found = hits(client.recall(query, scope=org))[:2]
    assert best in [hit.content for hit in found if hit.relevance >= RELEVANCE_FLOOR]
    if "-" in best:
        assert found[0].content == best


@pytest.mark.parametrize("size", SIZES)
def test_identical_text_is_about_one_on_any_store(client: Client, store: Store, size: int) -> None:
    for text in TEXTS[: min(size, 5)]:
        for mode in ("active", "deep"):
            best = hits(client.recall(text, scope=store(size), mode=mode))[0]
            assert best.content == text
            assert best.relevance > 0.95


def test_d18_a_lone_irrelevant_memory_stays_below_the_floor(client: Client, scope: str) -> None:
    org = tenant(scope)
    client.remember([memory("fact", "The piano was tuned in spring.")], scope=org)
    alone = client.recall("how are contracts of sale terminated?", scope=org)
    assert hits(alone)[0].relevance < 0.2
    assert 0 < alone.confidence < 1
    assert hits(client.recall("how are contracts of sale terminated?", scope=org, min_score=0.5)) == []
    assert client.recall("anything", scope=tenant(f"{scope}-empty")).confidence == 0


def test_min_score_cuts_at_relevance_and_confidence_follows_the_best_hit(client: Client, store: Store) -> None:
    query = "Which instrument does Oskar play?"
    everything = client.recall(query, scope=store(60), mode="deep", top_k=50)
    relevances = sorted((hit.relevance for hit in hits(everything)), reverse=True)
    assert len({*relevances}) > 10
    for floor in (0.0, relevances[5], 0.25, 0.5, 1.0):
        answer = client.recall(query, scope=store(60), mode="deep", top_k=50, min_score=floor)
        assert sorted(hit.relevance for hit in hits(answer)) == sorted(r for r in relevances if r >= floor)
    weaker = client.recall("What is Oskar afraid of?", scope=store(60), top_k=50)
    assert hits(weaker)[0].relevance < relevances[0]
    assert weaker.confidence < everything.confidence < 1


def test_a_bonus_is_at_most_5_percent_and_lets_nothing_in(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    texts = ["The ferry takes bicycles.", "The ferry takes no caravans."]
    client.remember([memory("fact", text) for text in texts], scope=scope)
    session = open_session()
    for _ in range(4):
        answer = session.recall("what does the ferry take?")
        used = next(hit for hit in hits(answer) if hit.content == texts[1])
        client.feedback(
            answer.retrieval_id,
            memory_feedback=[memory_feedback(used.memory_id, "used", effect="helped")],
            remaining="not_used",
            coverage="complete",
        )
    later = {hit.content: hit for hit in hits(session.recall("what does the ferry take?"))}
    assert later[texts[1]].relevance == used.relevance
    assert later[texts[1]].score > used.score
    for hit in later.values():
        assert hit.relevance <= hit.score <= hit.relevance + 0.05
    floor = round(used.relevance + 0.0001, 4)
    assert texts[1] not in contents(session.recall("what does the ferry take?", min_score=floor))


@pytest.mark.parametrize("mode", ["active", "deep"])
def test_d21_copies_leave_room_for_what_is_distinct(client: Client, scope: str, mode: str) -> None:
    org = tenant(scope)
    said = "The greenhouse door must be closed at night"
    copies = [said, f"{said}."]
    copies += [" " * n + said.upper() + "\n" * n for n in range(1, 19)]
    distinct = [
        "The greenhouse has forty tomato plants.",
        "The door of the barn is green.",
        "At night the dog sleeps in the kitchen.",
        "Closed windows keep the moths out of the house.",
        "The night watch is on Tuesdays.",
    ]
    client.record_turns([turn(text, msg_id=str(n)) for n, text in enumerate(copies)], scope=org)
    client.remember([memory("fact", text) for text in distinct], scope=org)
    answer = client.recall("must the greenhouse door be closed at night?", scope=org, mode=mode, top_k=5)
    direct = [hit for hit in hits(answer) if hit.pathway == recall_pb2.PATHWAY_DIRECT]
    assert len(direct) == 5
    assert sum(hit.content in copies for hit in hits(answer)) == 1, contents(answer)
    assert direct[0].content in copies
    assert answer.more_available
    # They are behind, not gone.
    assert (
        sum(text in copies for text in contents(client.recall("greenhouse door", scope=org, mode=mode, top_k=50))) > 5
    )


def test_d21_the_same_text_again_is_the_same_memory(client: Client, scope: str) -> None:
    org = tenant(scope)
    first = client.remember([memory("fact", "Only once.")], scope=org).results[0]
    again = client.remember([memory("fact", " only  ONCE. ")], scope=org).results[0]
    assert first.memory_id == again.memory_id
    for mode in ("active", "deep"):
        assert contents(client.recall("only once", scope=org, mode=mode)) == ["Only once."]


def test_d15_c7_c15_top_k_counts_direct_memories_and_gives_what_there_is(
    client: Client, store: Store, scope: str
) -> None:
    def direct(**more: object) -> int:
        answer = client.recall("what happened with the water meter and the camera?", **{"scope": store(60), **more})  # type: ignore[arg-type]
        return sum(hit.pathway == recall_pb2.PATHWAY_DIRECT for hit in hits(answer))

    assert direct() == 15
    assert direct(mode="deep") == 25
    for mode in ("active", "deep"):
        for top_k in (1, 5, 49, 50):
            assert direct(mode=mode, top_k=top_k) == top_k
    client.remember([memory("fact", f"Camera {n}.") for n in range(3)], scope=tenant(scope))
    assert direct(scope=tenant(scope), mode="deep", top_k=50) == 3
    assert direct(scope=tenant(f"{scope}-empty"), mode="deep", top_k=50) == 0


def test_c16_p3_p4_the_only_match_is_found_however_old_and_the_first_is_the_same_for_any_top_k(
    client: Client, scope: str
) -> None:
    org = tenant(scope)
    client.remember([memory("fact", "The heron nests on the old chimney.")], scope=org)
    for start in range(0, 400, 100):
        client.remember([memory("fact", text) for text in statements.filler(400)[start : start + 100]], scope=org)
    for mode in ("active", "deep"):
        for query in ("where does the heron nest?", "bird on a roof", "what did Ada think?"):
            first = {contents(client.recall(query, scope=org, mode=mode, top_k=top_k))[0] for top_k in (1, 10, 50)}
            assert len(first) == 1
            assert first == {"The heron nests on the old chimney."} or "Ada" in query
