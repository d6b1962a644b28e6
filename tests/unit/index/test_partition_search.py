"""The direct search over one partition."""

from __future__ import annotations

import numpy as np
import pytest

from remembrancer.internal.v1 import store_pb2
from remembrancer.model import fusion
from remembrancer.store.reader import StoredRecord
from remembrancer.v1 import common_pb2
from tests.records import DAY, NOW, record, turn
from tests.unit.index.records import MODEL, direction, ids, index, near, request, state_of, stored


def test_identical_text_scores_about_one_and_an_unrelated_one_low() -> None:
    text = "The staging database moved to port 5433 in March."
    found = index(stored(1, record(text), direction("a")), stored(2, record("Cats purr."), near("a", 0.1, "b")))
    by_n = {c.n: c.relevance for c in found.search(request(text, direction("a"))).candidates}
    assert by_n[1] > 0.97
    assert by_n[2] < 0.1


def test_d18_d19_a_lone_weak_hit_stays_low() -> None:
    found = index(stored(1, record("Cats purr."), near("q", 0.15, "x")))
    (candidate,) = found.search(request("port of the database", direction("q"))).candidates
    assert candidate.relevance < 0.2


def test_sharing_one_common_word_is_weak_evidence() -> None:
    found = index(*(stored(n, record(f"The report number {n} is done.")) for n in range(1, 30)))
    best = found.search(request("Did the Lisbon report mention asbestos removal?")).candidates[0]
    assert best.relevance < 0.15


def test_time_words_favour_texts_that_share_other_words_and_bring_in_no_others() -> None:
    found = index(
        stored(1, record("We live in Lisbon.")),
        stored(2, record("Now we live in Porto.")),
        stored(3, record("Now it rains.")),
    )
    wanted = request("Which town do we live in?")
    plain = {c.n: c.relevance for c in found.search(wanted).candidates}
    wanted.time_terms.append("now")
    timed = {c.n: c.relevance for c in found.search(wanted).candidates}
    assert plain.keys() == timed.keys() == {1, 2}
    assert plain[1] == timed[1]
    assert timed[2] > max(timed[1], plain[2])


def test_c6_a_rare_users_far_hits_are_found_among_many_near_ones_of_others() -> None:
    states = [stored(n, record(f"note {n}", axes={"user_id": "bob"}), near("q", 0.9, f"b{n}")) for n in range(1, 2001)]
    states += [
        stored(n, record(f"memo {n}", axes={"user_id": "alice"}), near("q", 0.05, f"a{n}")) for n in range(3001, 3006)
    ]
    found = index(*states)
    assert sorted(ids(found, request("", direction("q"), 5, {"user_id": "alice"}))) == [3001, 3002, 3003, 3004, 3005]


def test_c7_asking_for_more_than_there_is_gives_what_there_is() -> None:
    found = index(*(stored(n, record(f"fact {n}"), direction(f"f{n}")) for n in (1, 2, 3)))
    candidates = found.search(request("fact", direction("q"), 50)).candidates
    assert sorted(c.n for c in candidates) == [1, 2, 3]
    assert all(0 <= c.relevance <= 1 and -1 <= c.similarity <= 1 for c in candidates)


def test_c7_an_empty_partition_answers_nothing() -> None:
    found = index().search(request("anything", direction("q"), 25))
    assert found.candidates == []
    assert not found.any_live


def test_c15_fifty_of_a_thousand() -> None:
    found = index(*(stored(n, record(f"fact {n}"), near("q", 0.5, f"f{n}")) for n in range(1, 1001)))
    assert len(ids(found, request("fact", direction("q"), 50))) == 50


def test_c16_an_old_exact_match_is_first_among_a_thousand_noise_rows() -> None:
    states = [stored(1, record("The falcon code is 7713."), direction("q"))]
    states += [stored(n, record(f"noise about things {n}"), near("q", 0.3, f"n{n}")) for n in range(2, 1202)]
    assert ids(index(*states), request("falcon code", direction("q"), 10))[0] == 1


def test_identical_texts_are_all_candidates_whatever_their_number() -> None:
    found = index(*(stored(n, record("same words"), direction("q")) for n in range(1, 1501)))
    assert ids(found, request("same words", direction("q"), 1500)) == list(range(1, 1501))


def test_c19_an_edited_record_is_found_by_its_new_text_only() -> None:
    found = index(stored(1, record("Anna lives in Lisbon."), direction("lisbon")))
    found.apply(stored(1, record("Anna lives in Porto."), direction("porto")))
    assert ids(found, request("Lisbon")) == []
    assert ids(found, request("Porto")) == [1]
    cosine = found.search(request("", direction("lisbon"))).candidates[0].similarity
    assert cosine == pytest.approx(float(direction("porto") @ direction("lisbon")), abs=2e-3)


def test_an_erased_record_is_gone_and_erasing_twice_is_fine() -> None:
    found = index(stored(1, record("Anna lives in Lisbon."), direction("a")), stored(2, record("x"), direction("b")))
    found.apply(stored(1, None))
    found.apply(stored(1, None))
    found.apply(stored(7, None))
    assert ids(found, request("Lisbon", direction("a"))) == [2]


def test_c21_p33_a_record_with_a_damaged_vector_is_found_by_words() -> None:
    damaged = StoredRecord(1, record("The falcon code is 7713."), None, None, damaged=True)
    found = index(damaged, stored(2, record("Another thing."), direction("b")))
    assert ids(found, request("falcon", direction("b"))) == [2, 1]
    found.apply(stored(1, record("The falcon code is 7713."), direction("a")))
    assert found.search(request("falcon", direction("a"))).candidates[0].similarity == pytest.approx(1, abs=2e-3)


def test_without_a_query_vector_words_answer() -> None:
    found = index(
        stored(1, record("The falcon code is 7713."), direction("a")), stored(2, record("A cat."), direction("b"))
    )
    (candidate,) = found.search(request("falcon?")).candidates
    assert candidate.n == 1
    assert candidate.relevance > 0.5


def test_a_vector_of_another_model_or_length_is_not_compared() -> None:
    found = index(stored(1, record("A cat."), direction("a")))
    other = request("", direction("a"))
    other.model_id = "other"
    short = request("", direction("a"))
    short.query_vector = short.query_vector[:-2]
    assert ids(found, other) == ids(found, short) == []


def test_p27_an_identifier_in_a_longer_question_comes_first() -> None:
    states = [stored(n, record(f"Ticket bug-{n} was about the importer and its tests.")) for n in range(170, 190)]
    for query in ('what did we decide about "bug-183"?', "(bug-183)", "importer tests bug-183?", "bug-183*"):
        assert ids(index(*states), request(query))[0] == 183


def test_p28_d6_a_single_cjk_character_is_found() -> None:
    found = index(
        stored(1, record("你好，我是小明，我住在台北")),
        stored(2, record("吾輩は猫である")),
        stored(3, record("I am Ann")),
    )
    assert ids(found, request("猫")) == [2]
    assert ids(found, request("小明住在哪裡")) == [1]


def test_the_best_window_of_a_long_text_counts() -> None:
    windows = np.stack([direction("x"), direction("y"), direction("q")])
    found = index(stored(1, record("long"), windows), stored(2, record("short"), near("q", 0.5, "s")))
    (first, _) = found.search(request("", direction("q"))).candidates
    assert (first.n, round(first.similarity, 2)) == (1, 1.0)


def test_the_words_of_a_turns_date_are_searchable_unless_the_time_is_uncertain() -> None:
    may = 1_683_500_000  # 7 May 2023
    found = index(
        stored(1, turn("We went hiking.", occurred=may)),
        stored(2, turn("We went hiking.", occurred=may, time_uncertain=True, conversation="d")),
    )
    assert ids(found, request("May 2023"))[0] == 1
    assert ids(found, request("May 2023")) == [1]


def test_the_speaker_asked_about_is_preferred() -> None:
    found = index(
        stored(1, turn("I adopted a dog.", "Ben", "c"), direction("a")),
        stored(2, turn("I adopted a dog.", "Ann", "d"), direction("a")),
    )
    assert ids(found, request("adopted a dog", direction("a"), speakers=["Ann"])) == [2, 1]


def test_a_neighbouring_turn_lends_evidence_within_its_conversation_only() -> None:
    def answer(conversation: str, occurred: int = NOW) -> list[tuple[int, float]]:
        found = index(
            stored(1, turn("What is the name of your parrot?", "Ann", "c")),
            stored(2, turn("Ruby!", "Ben", conversation, occurred=occurred)),
            stored(3, turn("Good night.", "Ben", "e")),
        )
        return [(c.n, c.relevance) for c in found.search(request("name of the parrot")).candidates]

    assert [n for n, _ in answer("c")] == [1, 2]
    assert [n for n, _ in answer("other")] == [1]
    assert [n for n, _ in answer("c", NOW + 3 * DAY)] == [1]


def test_a_neighbour_that_the_filter_hides_lends_nothing() -> None:
    question = turn("What is the name of your parrot?", "Ann", axes={"source_id": "x"})
    found = index(stored(1, question), stored(2, turn("Ruby!", "Ben", axes={"source_id": "y"})))
    assert ids(found, request("name of the parrot", axes={"source_id": "y"})) == []


def test_the_cue_orders_but_does_not_drown_the_query() -> None:
    found = index(
        stored(1, record("one"), near("q", 0.5, "s1")),
        stored(2, record("two"), near("q", 0.5, "s2")),
        stored(3, record("three"), near("cue", 1.0, "s3")),
    )
    wanted = request("", direction("q"))
    wanted.cue_vector = near("s2", 1.0, "z").astype("<f2").tobytes()
    assert ids(found, wanted)[0] == 2
    wanted.cue_vector = direction("cue").astype("<f2").tobytes()
    relevance = {c.n: c.relevance for c in found.search(wanted).candidates}
    assert relevance[3] < relevance[1]


def test_e4_recency_is_read_against_as_of() -> None:
    found = index(
        stored(1, record("old", occurred=NOW - 20 * DAY), direction("a")),
        stored(2, record("new", occurred=NOW + 900 * DAY), direction("a")),
    )
    bonus = {c.n: c.bonus for c in found.search(request("", direction("a"))).candidates}
    assert bonus[1] > bonus[2]


def test_e3_an_uncertain_time_never_wins_on_recency() -> None:
    found = index(
        stored(1, record("x", time_uncertain=True), direction("a")),
        stored(2, record("x", occurred=NOW - 20_000 * DAY), direction("a")),
        stored(3, record("x", occurred=NOW + 20_000 * DAY), direction("a")),
    )
    bonus = {c.n: c.bonus for c in found.search(request("", direction("a"))).candidates}
    assert bonus[1] < min(bonus[2], bonus[3])


def test_feedback_moves_the_bonus_and_not_the_relevance() -> None:
    found = index(*(stored(n, record("x"), direction("a")) for n in (1, 2, 3)))
    found.apply(stored(1, record("x"), direction("a"), store_pb2.Learned(helped=2)))
    found.apply(stored(2, record("x"), direction("a"), store_pb2.Learned(helped=1, harmed=1)))
    candidates = {c.n: c for c in found.search(request("", direction("a"))).candidates}
    assert candidates[1].bonus > candidates[3].bonus > candidates[2].bonus
    assert len({c.relevance for c in candidates.values()}) == 1


def test_relevance_of_any_record_is_that_of_the_search() -> None:
    found = index(*(stored(n, turn(f"topic {n} talk"), near("q", n / 20, f"s{n}")) for n in range(1, 20)))
    wanted = request("topic 7", direction("q"), 19)
    assert {c.n: c.relevance for c in found.search(wanted).candidates} == {
        n: c.relevance for n, c in found.scorer(wanted).of(range(40)).items()
    }


def test_eight_bit_vectors_rank_like_exact_ones() -> None:
    states = [stored(n, record(f"t{n}"), near("q", n / 40, f"s{n}")) for n in range(1, 40)]
    wanted = request("", direction("q"), 39)
    assert ids(index(*states, eight_bit=True), wanted)[:10] == ids(index(*states), wanted)[:10]


def test_c13_two_indexes_of_different_dimensions_live_side_by_side() -> None:
    from workers.index.model import Model
    from workers.index.partition import PartitionIndex

    small = PartitionIndex(Model("small", 8))
    small.apply(StoredRecord(1, record("a"), np.eye(1, 8, dtype=np.float32), None))
    large = index(stored(1, record("a"), direction("a")))
    wanted = request("")
    wanted.model_id, wanted.query_vector = "small", np.eye(1, 8, dtype="<f2").tobytes()
    assert ids(small, wanted) == [1]
    assert ids(large, request("", direction("a"))) == [1]
    assert MODEL.dimension == 32


def test_s34_a_search_says_the_same_each_time() -> None:
    found = index(*(stored(n, turn(f"topic {n % 3} talk"), near("q", 0.4, f"s{n % 5}")) for n in range(1, 60)))
    wanted = request("topic 2", direction("q"))
    assert state_of(found, wanted) == state_of(found, wanted) == state_of(found, wanted)


def test_t25_a_tier_orders_by_the_score_that_the_gateway_shows() -> None:
    taught = [store_pb2.Learned(helped=9), store_pb2.Learned(), store_pb2.Learned(harmed=9)]
    found = index(*(stored(n, record(f"fact {n}"), near("q", 0.6, f"v{n}"), taught[n % 3]) for n in range(1, 13)))
    best = found.search(request("", direction("q"), depth=12)).candidates
    fused = fusion.fuse([(common_pb2.TIER_ACTIVE, best)])
    assert [c.n for c in fused] == [c.n for c in best]
    # Of nearly the same relevance: what helped is in front, what harmed behind.
    assert [c.n % 3 for c in best] == [0] * 4 + [1] * 4 + [2] * 4
    assert max(c.score - c.relevance for c in fused) <= 0.05 + 1e-9
