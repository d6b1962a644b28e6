"""The fit finds preferences that made the examples, and keeps those that are promised."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bench.answer_examples import Example
from bench.conditional_logit import AT_LEAST, Design, choices, fit_choice, fit_sureness
from bench.fit_probable_answer import fitted_on
from remembrancer.model.probable_answer import choose
from remembrancer.model.probable_answer_coefficients import SURENESS_FEATURES, parse
from remembrancer.model.probable_answer_features import HIT_FEATURES, Option, Question
from remembrancer.v1 import recall_pb2

TIMELESS = recall_pb2.QUESTION_TIME_TIMELESS


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """People who answer at the best relevance, never with a question; a third of the questions has no answer."""
    chance = np.random.default_rng(5)
    found = []
    for number in range(400):
        relevance = np.sort(chance.uniform(0.3, 0.9, 10))[::-1]
        asks = chance.random(10) < 0.3
        options = [
            Option(i, float(r), f"Can {i} be where the oil is{'?' if ask else '.'}", "", None, None)
            for i, (r, ask) in enumerate(zip(relevance, asks, strict=True), 1)
        ]
        answered = number % 3 > 0
        if not answered:
            options = [dataclasses.replace(o, relevance=o.relevance * 0.6) for o in options]
        best = next((i for i, ask in enumerate(asks) if not ask), 0)
        right = [answered and i == best for i in range(10)]
        found.append(Example(Question(frozenset({"oil"}), TIMELESS, ()), options, right, "whole", f"c{number % 4}"))
    return found


def test_the_fit_finds_who_answers(examples: list[Example]) -> None:
    design = Design.of(examples)
    known, new = design.part(np.arange(400) < 300), design.part(np.arange(400) >= 300)
    hits, none = fit_choice(known)
    weights = dict(zip(HIT_FEATURES, hits, strict=True))
    assert weights["is_question"] < -1
    assert weights["above"] > 1
    held_out = [right for (*_, right), one in zip(choices(new, hits, none), new.right, strict=True) if one.any()]
    assert np.mean(held_out) > 0.8


def test_promised_preferences_are_kept_where_the_examples_say_nothing(examples: list[Example]) -> None:
    hits, _ = fit_choice(Design.of(examples))
    weights = dict(zip(HIT_FEATURES, hits, strict=True))
    assert all(weights[name] >= least - 1e-6 for name, least in AT_LEAST.items())


def test_sureness_follows_how_often_choices_are_right(examples: list[Example]) -> None:
    design = Design.of(examples)
    made = choices(design, *fit_choice(design))
    half = [(shares, best, number % 2 == 0) for number, (shares, best, _) in enumerate(made)]
    weights = dict(zip(SURENESS_FEATURES, fit_sureness(design, half), strict=True))
    assert abs(weights["log_odds"]) < 0.2
    honest = dict(zip(SURENESS_FEATURES, fit_sureness(design, made), strict=True))
    assert honest["log_odds"] > 0.5


def test_what_is_written_can_be_used(examples: list[Example]) -> None:
    coefficients = parse(
        fitted_on([dataclasses.replace(e, kind="elsewhere" if i % 9 == 0 else e.kind) for i, e in enumerate(examples)])
    )
    answered = [e for e in examples if any(e.right)]
    chosen = [choose(e.question, e.options, coefficients) for e in answered]
    right = [bool(c) and e.right[c[0].n - 1] for c, e in zip(chosen, answered, strict=True)]
    assert np.mean(right) > 0.8
