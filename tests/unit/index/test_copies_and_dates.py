"""What a search does with copies, with equal texts, with times that the query names, and with other models' scales."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.internal.v1 import tier_pb2
from remembrancer.model.analysis import text_key
from tests import vectors
from tests.records import DAY, NOW, record, turn
from tests.unit.index.records import direction, ids, index, near, request, state_of, stored


@pytest.mark.parametrize("copies", [20, 700])
@pytest.mark.parametrize("eight_bit", [False, True])
def test_d21_copies_however_many_leave_room_for_what_is_distinct(copies: int, eight_bit: bool) -> None:
    # Each pair of copies has a cosine above .98; all are better hits than anything else.
    template = near("q", 0.9, "template")
    near_copies = [
        stored(n, record("beat" + n * "!" + "?"), vectors.near(template, 0.995, f"c{n}")) for n in range(1, copies + 1)
    ]
    distinct = [stored(1000 + n, record(f"fact {n}"), near("q", 0.5, f"d{n}")) for n in range(5)]
    found = index(*near_copies, *distinct, eight_bit=eight_bit)
    first = ids(found, request("", direction("q"), depth=6))
    assert sum(n <= copies for n in first) == 1
    assert first[0] <= copies
    assert set(first[1:]) == {1000 + n for n in range(5)}
    # The copies are not gone, they come last.
    many = ids(found, request("", direction("q"), depth=10))
    assert set(many[:6]) == set(first)
    assert all(n <= copies for n in many[6:])


def test_d21_equal_texts_are_copies_without_any_vector() -> None:
    found = index(
        *(stored(n, record("Same  TEXT" if n % 2 else "same text")) for n in range(1, 5)), stored(9, record("text"))
    )
    assert ids(found, request("same text", depth=2)) == [1, 9]


@pytest.mark.parametrize("eight_bit", [False, True])
def test_t27_a_changed_fact_is_no_copy_and_of_copies_the_newest_is_in_front(eight_bit: bool) -> None:
    found = index(
        stored(1, record("The meeting is at 3 pm.", occurred=NOW - 3 * DAY), near("q", 0.9, "m")),
        stored(2, record("The meeting is at 4 pm!", occurred=NOW - 3 * DAY), near("q", 0.9, "m")),
        stored(3, record("The meeting is at 4 pm.", occurred=NOW - DAY), near("q", 0.89, "m")),
        stored(4, record("Something else."), near("q", 0.4, "e")),
        eight_bit=eight_bit,
    )
    assert ids(found, request("", direction("q"), depth=3)) == [1, 3, 4]
    assert ids(found, request("", direction("q"), depth=4)) == [1, 3, 4, 2]


def test_long_texts_that_share_a_window_are_no_copies() -> None:
    shared = direction("q")
    long = [np.stack([shared, direction(f"rest {n}")]) for n in range(3)]
    found = index(
        *(stored(n, record(f"long {n}"), long[n]) for n in range(3)), stored(7, record("x"), direction("other"))
    )
    assert set(ids(found, request("", shared, depth=3))) == {0, 1, 2}


def test_an_equal_text_is_found_first_whatever_its_vector_says() -> None:
    texts = [stored(n, turn("Melanie is here")) for n in range(1, 400)]
    found = index(*texts, stored(500, record("melanie IS  here again"), near("q", 0.1, "x")))
    wanted = request("melanie", direction("q"), depth=2)
    wanted.text_key = text_key("Melanie is here again")
    best = found.search(wanted).candidates[0]
    assert (best.n, best.relevance) == (500, 1.0)


def test_e3_words_of_a_date_make_no_text_longer() -> None:
    dated, uncertain = record("the ferry leaves at noon"), record("the ferry leaves at noon", time_uncertain=True)
    found = index(stored(1, uncertain, near("q", 0.7, "a")), stored(2, dated, near("q", 0.7, "b")))
    one, two = found.search(request("when does the ferry leave", direction("q"))).candidates
    assert one.relevance == two.relevance
    assert {one.n: one.bonus, two.n: two.bonus}[2] > {one.n: one.bonus, two.n: two.bonus}[1]
    assert ids(found, request("november 2023")) == [2]


def test_a_named_time_favours_what_lies_in_it_and_brings_it_in() -> None:
    noise = [stored(n, record(f"noise {n}"), near("q", 0.40, f"n{n}")) for n in range(1, 700)]
    yesterday = stored(900, record("swim", occurred=NOW - DAY), near("q", 0.38, "y"))
    uncertain = stored(901, record("swam", occurred=NOW - DAY, time_uncertain=True), near("q", 0.38, "u"))
    found = index(*noise, yesterday, uncertain)
    wanted = request("", direction("q"), depth=3)
    assert 900 not in ids(found, wanted)
    window = tier_pb2.TimeWindow(start=Timestamp(seconds=NOW - 2 * DAY), end=Timestamp(seconds=NOW - DAY // 2))
    wanted.windows.append(window)
    best = found.search(wanted).candidates[0]
    assert best.n == 900
    # Bounded: it lifts a little, and no filter is made of it.
    assert best.relevance < 0.38 * 0.55 + 0.11
    assert len(ids(found, wanted)) == 3
    wanted.filter.occurred_after.seconds = NOW
    assert 900 not in ids(found, wanted)


def test_a_window_ends_before_its_end() -> None:
    found = index(*(stored(n, record(f"r{n}", occurred=NOW + n), near("q", 0.4, f"{n}")) for n in range(4)))
    wanted = request("", direction("q"))
    wanted.windows.append(tier_pb2.TimeWindow(start=Timestamp(seconds=NOW + 1), end=Timestamp(seconds=NOW + 3)))
    lifted = [n for n, relevance, _ in state_of(found, wanted) if relevance > 0.25]
    assert sorted(lifted) == [1, 2]


def test_a_model_whose_unrelated_texts_have_a_high_cosine_says_the_same() -> None:
    plain = index(stored(1, record("a"), near("q", 0.5, "x")))
    high = index(stored(1, record("a"), near("q", 0.85, "x")))
    wanted = request("", direction("q"))
    expected = plain.search(wanted).candidates[0]
    wanted.unrelated_cosine = 0.7
    found = high.search(wanted).candidates[0]
    assert found.relevance == pytest.approx(expected.relevance, abs=2e-3)
    assert found.similarity == pytest.approx(expected.similarity, abs=2e-3)


def test_f2_a_search_without_a_vector_that_fits_says_so() -> None:
    found = index(stored(1, record("a"), direction("a")))
    assert not found.search(request("a", direction("a"))).words_only
    assert found.search(request("a")).words_only
    foreign = request("a", direction("a"))
    foreign.model_id = "another-model@2"
    assert found.search(foreign).words_only
