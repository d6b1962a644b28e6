"""The vector index against brute force."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.index.vectors import Vectors

DIMENSION = 64  # FAISS has other code for lengths that are no multiple of 32


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    made = rng.standard_normal((rows, DIMENSION)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return np.asarray(made.astype(np.float16).astype(np.float32))


@given(
    seed=st.integers(0, 2**32 - 1),
    windows=st.lists(st.integers(0, 3), max_size=60),
    least=st.integers(1, 20),
    eight_bit=st.booleans(),
    keep_share=st.floats(0, 1),
)
@settings(max_examples=100, deadline=None)
def test_c3_search_and_removal_agree_with_brute_force(
    seed: int, windows: list[int], least: int, eight_bit: bool, keep_share: float
) -> None:
    rng = np.random.default_rng(seed)
    texts = [unit(rng, count) if count else None for count in windows]
    found = Vectors(DIMENSION, eight_bit)
    for text in texts:
        found.add(text)
    kept = rng.random(len(texts)) < keep_share
    found.keep(kept)
    texts = [text for text, stays in zip(texts, kept, strict=True) if stays]
    allowed = rng.random(len(texts)) < 0.7
    query = unit(rng, 1)[0]
    exact = np.array([-2.0 if text is None else float((text @ query).max()) for text in texts])

    slots = np.arange(len(texts))
    cosine = found.cosine(query, slots)
    tolerance = 0.05 if eight_bit else 1e-3
    for slot, text in enumerate(texts):
        assert cosine[slot] == (0 if text is None else pytest.approx(exact[slot], abs=tolerance))

    answer = found.search(query, least, allowed)
    possible = [slot for slot in slots if allowed[slot] and texts[slot] is not None]
    assert set(answer) <= set(possible)
    assert len(answer) >= min(least, len(possible))
    if 0 < len(answer) < len(possible):
        left = set(possible) - set(answer)
        assert max(cosine[list(left)]) < min(cosine[answer]) + 1e-4


def churn(steps: int, eight_bit: bool) -> None:
    """Add and remove at random, and compare with a list of what should be there."""
    rng = np.random.default_rng(7)
    found, texts, alive = Vectors(DIMENSION, eight_bit), list[np.ndarray](), list[bool]()
    for step in range(1, steps + 1):
        if rng.random() < 0.55 or not any(alive):
            texts.append(unit(rng, int(rng.integers(1, 3))))
            alive.append(True)
            found.add(texts[-1])
        else:
            alive[int(rng.choice(np.flatnonzero(alive)))] = False
        if step % 97 == 0:  # What is dead is dropped now and then, as a partition does.
            found.keep(np.array(alive))
            texts, alive = [text for text, stays in zip(texts, alive, strict=True) if stays], [True] * sum(alive)
        if step % 50 == 0:
            query, allowed = unit(rng, 1)[0], np.array(alive)
            exact = np.array([float((text @ query).max()) for text in texts])
            nearest = set(np.flatnonzero(allowed)[np.argsort(-exact[allowed])][:10])
            answer = set(found.search(query, 10, allowed).tolist())
            assert all(alive[slot] for slot in answer)
            if not eight_bit:
                assert nearest <= answer


@pytest.mark.parametrize("eight_bit", [False, True])
@pytest.mark.parametrize("steps", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_c3_many_random_additions_and_removals_end_neither_wrong_nor_in_an_abort(steps: int, eight_bit: bool) -> None:
    # In a process of its own: FAISS aborts where it finds itself inconsistent.
    process = multiprocessing.get_context("spawn").Process(target=churn, args=(steps, eight_bit))
    process.start()
    process.join(100)
    assert process.exitcode == 0


@pytest.mark.parametrize("eight_bit", [False, True])
def test_a_search_tells_near_from_far_and_brings_little_more_than_was_asked_for(eight_bit: bool) -> None:
    rng = np.random.default_rng(3)
    texts, query = unit(rng, 2000), unit(rng, 1)[0]
    found = Vectors(DIMENSION, eight_bit)
    for text in texts:
        found.add(text[None])
    answer = found.search(query, 50, np.ones(len(texts), np.bool_))
    assert 50 <= len(answer) <= 100
    nearest = np.argsort(-(texts @ query))[:40]
    assert set(nearest) <= set(answer)


@pytest.mark.parametrize("eight_bit", [False, True])
def test_a_cosine_does_not_depend_on_the_company(eight_bit: bool) -> None:
    rng = np.random.default_rng(5)
    texts = unit(rng, 500)
    query = unit(rng, 1)[0]
    alone = Vectors(DIMENSION, eight_bit)
    alone.add(texts[77:78])
    together = Vectors(DIMENSION, eight_bit)
    for text in texts:
        together.add(text[None])
    assert alone.cosine(query, np.array([0]))[0] == together.cosine(query, np.arange(500))[77]
