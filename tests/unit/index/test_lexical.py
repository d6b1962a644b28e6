"""BM25 over growing postings."""

from __future__ import annotations

from collections import Counter
from math import log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.index.lexical import K1, B, Lexical, Matches

TERMS = "abcde"


def match(lexical: Lexical, query: list[str], alive: np.ndarray, allowed: np.ndarray, chain: bool = False) -> Matches:
    size = len(alive)
    before = np.arange(-1, size - 1, dtype=np.int32) if chain else np.full(size, -1, np.int32)
    after = np.append(np.arange(1, size), -1).astype(np.int32)[:size] if chain else np.full(size, -1, np.int32)
    return lexical.match(query, alive, allowed, before, after)


def expected(texts: list[list[str]], alive: np.ndarray, query: list[str], slot: int) -> float:
    """BM25 written out, as a share of the query's highest."""
    live = [text for text, lives in zip(texts, alive, strict=True) if lives]
    average = sum(map(len, live)) / len(live)
    total = highest = 0.0
    for term in set(query):
        df = sum(term in text for text in live)
        idf = log1p((len(live) - df + 0.5) / (df + 0.5))
        highest += idf
        tf = Counter(texts[slot])[term]
        total += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(texts[slot]) / max(average, 1e-9))) if tf else 0
    return min(1.0, total / highest)


@given(
    texts=st.lists(st.lists(st.sampled_from(TERMS), min_size=1, max_size=6), min_size=1, max_size=12),
    query=st.lists(st.sampled_from(TERMS + "xy"), min_size=1, max_size=5),
    data=st.data(),
)
@settings(deadline=None)
def test_shares_are_bm25_over_the_live_texts_before_and_after_compaction(
    texts: list[list[str]], query: list[str], data: st.DataObject
) -> None:
    lexical = Lexical()
    for text in texts:
        lexical.add(text)
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    for slot in np.flatnonzero(~alive):
        lexical.remove(int(slot))
    shares = match(lexical, query, alive, alive).alone
    for slot in np.flatnonzero(alive):
        assert shares[slot] == pytest.approx(expected(texts, alive, query, int(slot)))
    lexical.keep(alive)
    everything = np.ones(int(alive.sum()), np.bool_)
    assert match(lexical, query, everything, everything).alone == pytest.approx(shares[alive])


def test_a_pair_has_the_words_of_the_turn_before_but_not_of_a_hidden_one() -> None:
    lexical = Lexical()
    for text in (["parrot"], ["ruby"], ["night"]):
        lexical.add(text)
    alive = np.ones(3, np.bool_)
    assert (match(lexical, ["parrot"], alive, alive, chain=True).paired > 0).tolist() == [True, True, False]
    hidden = np.array([False, True, True])
    assert not match(lexical, ["parrot"], alive, hidden, chain=True).paired.any()


def test_a_pair_that_says_a_word_twice_counts_it_twice() -> None:
    once, twice = Lexical(), Lexical()
    for lexical, first in ((once, ["z"]), (twice, ["a"])):
        for text in (first, ["a"], ["q"], ["r"], ["s"]):
            lexical.add(text)
    alive = np.ones(5, np.bool_)
    pairs = [match(lexical, ["a", "b"], alive, alive, chain=True).paired[1] for lexical in (once, twice)]
    alone = [match(lexical, ["a", "b"], alive, alive).alone[1] for lexical in (once, twice)]
    assert pairs[1] / alone[1] > pairs[0] / alone[0]


def test_a_text_is_searchable_as_soon_as_it_is_added() -> None:
    lexical = Lexical()
    for n in range(200):
        lexical.add([f"w{n}"])
        alive = np.ones(n + 1, np.bool_)
        assert match(lexical, [f"w{n}"], alive, alive).alone[n] > 0


def test_no_terms_match_nothing() -> None:
    lexical = Lexical()
    lexical.add(["a"])
    alive = np.ones(1, np.bool_)
    assert not match(lexical, [], alive, alive).alone.any()
