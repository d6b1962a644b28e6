"""The benchmark's measures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import metrics

IDS = st.lists(st.text("abcdefgh", min_size=1, max_size=2), min_size=1, max_size=15, unique=True)


def test_ndcg_of_a_known_ranking() -> None:
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / math.log2(4))
    assert metrics.ndcg(["x", "a", "y", "b"], {"a", "b", "dangling"}) == pytest.approx(expected)


def test_only_the_first_ten_count() -> None:
    ranked = [f"x{number}" for number in range(10)] + ["a"]
    assert metrics.ndcg(ranked, {"a"}) == 0
    assert metrics.recall(ranked, {"a"}, 10) == 0
    assert metrics.recall(ranked, {"a"}, 11) == 1


def test_more_relevant_ids_than_places_can_still_be_perfect() -> None:
    ranked = [f"a{number}" for number in range(12)]
    assert metrics.ndcg(ranked, set(ranked)) == pytest.approx(1)


@given(ranked=IDS, relevant=IDS)
def test_measures_stay_between_0_and_1(ranked: list[str], relevant: list[str]) -> None:
    assert 0 <= metrics.ndcg(ranked, relevant) <= 1 + 1e-9
    assert 0 <= metrics.recall(ranked, relevant, 5) <= metrics.recall(ranked, relevant, 10) <= 1


@given(relevant=IDS)
def test_the_relevant_ids_first_are_perfect(relevant: list[str]) -> None:
    assert metrics.ndcg(relevant, set(relevant)) == pytest.approx(1)


def test_every_category_weighs_the_same() -> None:
    means = metrics.by_category([("a", 1.0), ("a", 0.0), ("b", 1.0)])
    assert means == {"a": 0.5, "b": 1.0}
    assert metrics.macro(means) == 0.75
