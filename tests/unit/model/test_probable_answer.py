"""Which hit most probably answers: what always holds of the choice, and what it prefers."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.model.fusion import RELEVANCE_FLOOR
from remembrancer.model.probable_answer import Choice, choose
from remembrancer.model.probable_answer_coefficients import (
    SURENESS_FEATURES,
    Coefficients,
    CoefficientsInvalid,
    load,
    parse,
)
from remembrancer.model.probable_answer_features import CONSIDERED, HIT_FEATURES, Option, Question, considered
from remembrancer.v1 import recall_pb2

AS_OF = datetime(2025, 6, 16, tzinfo=UTC)
FITTED = load()
YES_TO_ALL = dataclasses.replace(FITTED, threshold=0.0)


def option(n: int, content: str, relevance: float, days_ago: float | None = None, speaker: str = "") -> Option:
    at = None if days_ago is None else (AS_OF - timedelta(days=days_ago)).timestamp()
    return Option(n=n, relevance=relevance, content=content, speaker=speaker, conversation=None, at=at)


def asked(query: str, *options: Option, coefficients: Coefficients = FITTED) -> list[Choice]:
    return choose(Question.of(query, [], AS_OF), considered(options), coefficients)


OPTIONS = st.lists(
    st.builds(
        Option,
        n=st.integers(1, 10**12),
        relevance=st.floats(0, 1).map(lambda value: round(value, 4)),
        content=st.one_of(
            st.text(max_size=80),
            st.sampled_from(["I live in Lisbon.", "I live in Porto.", "Where do you live?", "", "\0" * 3000]),
        ),
        speaker=st.sampled_from(["", "Mia", "Ben"]),
        conversation=st.sampled_from([None, "", "c1"]),
        at=st.one_of(st.none(), st.floats(-62135596800, 253402300799), st.sampled_from([0.0, 1.7e9])),
    ),
    max_size=50,
    unique_by=lambda o: o.n,
)
QUERIES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["Where do I live?", "Where did I live before?", "Have I ever lived in Lisbon?", "in May 2024?"]),
)


@settings(max_examples=150, deadline=None)
@given(QUERIES, OPTIONS, st.sampled_from([FITTED, YES_TO_ALL]))
def test_p49_a_choice_and_its_alternatives_are_hits_with_probabilities(
    query: str, options: list[Option], coefficients: Coefficients
) -> None:
    question = Question.of(query, ["mia"], AS_OF)
    choices = choose(question, considered(options), coefficients)
    ns, probabilities = [choice.n for choice in choices], [choice.probability for choice in choices]
    assert len(choices) <= 3
    assert len(set(ns)) == len(ns)
    assert set(ns) <= {o.n for o in considered(options)} <= {o.n for o in options}
    assert all(math.isfinite(p) and 0 < p <= 1 for p in probabilities)
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1
    assert not choices or choices[0].probability >= round(coefficients.threshold, 4)
    assert choices == choose(question, considered(options[::-1]), coefficients)
    if coefficients is YES_TO_ALL:
        assert bool(choices) == bool(options)


def test_the_ten_most_relevant_are_considered() -> None:
    options = [option(n, "x", relevance=n / 100) for n in range(1, 31)]
    assert [o.n for o in considered(options)] == list(range(30, 30 - CONSIDERED, -1))
    assert [o.n for o in considered([option(2, "x", 0.5), option(1, "x", 0.5)])] == [1, 2]


def test_one_good_hit_answers_and_hits_that_are_not_about_it_do_not() -> None:
    noise = [option(n, f"Something about gardening and tool {n}.", 0.1) for n in range(2, 9)]
    good = option(1, "The spare key hangs behind the clock.", 0.75)
    (chosen, *_) = asked("Where is the spare key?", good, *noise)
    assert chosen.n == 1
    assert chosen.probability > 0.5
    assert asked("Where is the spare key?", *noise) == []
    assert asked("Where is the spare key?") == []
    assert asked("Where is the spare key?", dataclasses.replace(good, relevance=RELEVANCE_FLOOR - 0.1)) == []


def test_more_relevance_is_never_less_probable() -> None:
    probabilities = []
    for relevance in (0.35, 0.45, 0.55, 0.65, 0.75, 0.9):
        (chosen, *_) = asked(
            "Where is the spare key?",
            option(1, "The spare key hangs behind the clock.", relevance),
            option(2, "We had soup.", 0.2),
            coefficients=YES_TO_ALL,
        )
        assert chosen.n == 1
        probabilities.append(chosen.probability)
    assert probabilities == sorted(set(probabilities))


def test_a_question_is_not_an_answer_and_what_follows_one_may_be() -> None:
    question = Option(4, 0.6, "Where is the spare key these days?", "Mia", "c1", None)
    answer = Option(5, 0.5, "Behind the clock in the kitchen, as always.", "Ben", "c1", None)
    other = Option(9, 0.5, "Behind the clock in the kitchen, as always!", "Ben", "c1", None)
    assert asked("Where is the spare key?", question, answer)[0].n == 5
    assert asked("Where is the spare key?", question, answer, other, coefficients=YES_TO_ALL)[0].n == 5
    alone = dataclasses.replace(answer, conversation="c2")
    assert _probability(5, question, alone) < _probability(5, question, answer)


def _probability(n: int, *options: Option) -> float:
    choices = asked("Where is the spare key?", *options, coefficients=YES_TO_ALL)
    return next((choice.probability for choice in choices if choice.n == n), 0.0)


OLD, NEW = "I live in Lisbon, close to the river.", "I live in Porto now, above a bakery."


@pytest.mark.parametrize("ahead", [-0.05, 0.0, 0.05])
@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("Where do I live?", 2),
        ("Which city do I live in now?", 2),
        ("Where did I live before?", 1),
        ("Where did I use to live?", 1),
    ],
)
def test_p52_of_conflicting_memories_the_newest_holds_now_and_an_older_one_held_before(
    query: str, chosen: int, ahead: float
) -> None:
    options = option(1, OLD, 0.6 + ahead, days_ago=900), option(2, NEW, 0.6 - ahead, days_ago=30)
    assert asked(query, *options)[0].n == chosen


def test_what_someone_else_says_does_not_conflict() -> None:
    old, new = option(1, OLD, 0.62, days_ago=900, speaker="Mia"), option(2, NEW, 0.6, days_ago=30, speaker="Ben")
    assert asked("Where do you live?", old, new)[0].n == 1
    assert asked("Where do you live?", old, dataclasses.replace(new, speaker="Mia"))[0].n == 2
    assert asked("Where do you live?", old, dataclasses.replace(new, speaker=""))[0].n == 2


def test_a_memory_whose_time_is_uncertain_does_not_win_on_its_time() -> None:
    options = option(1, OLD, 0.62, days_ago=900), option(2, NEW, 0.6)
    assert asked("Where do I live?", *options)[0].n == 1


def test_of_equally_good_ones_that_within_the_named_time_answers() -> None:
    days = {1: 400, 2: 45, 3: 5}
    options = [option(n, "Mia cooked a stew for all of us.", 0.6, ago, speaker=str(n)) for n, ago in days.items()]
    question = Question.of("What did Mia cook in May 2025?", ["mia"], AS_OF)
    assert question.time == recall_pb2.QUESTION_TIME_DATE
    assert choose(question, considered(options), FITTED)[0].n == 2


@pytest.mark.parametrize("order", list(itertools.permutations((9, 12, 100))))
def test_t25_equally_probable_answers_are_ordered_by_number(order: tuple[int, ...]) -> None:
    twins = [option(n, "Mia lives in Lisbon.", 0.8, 3) for n in order]
    choices = choose(Question.of("Where does Mia live?", [], AS_OF), twins, YES_TO_ALL)
    assert [choice.n for choice in choices] == [9, 12, 100]


def test_the_names_of_speakers_are_not_what_is_asked() -> None:
    assert Question.of("What did Mia's sister say?", ["mia"], AS_OF).terms == {"sister", "say"}


def test_a_speaker_called_will_is_no_future() -> None:
    assert Question.of("What did Will adopt?", ["will"], AS_OF).time != recall_pb2.QUESTION_TIME_FUTURE
    assert Question.of("What will Will adopt?", [], AS_OF).time == recall_pb2.QUESTION_TIME_FUTURE


def test_a_long_hit_is_read_at_its_beginning_only() -> None:
    begin = "The spare key hangs behind the clock. " + "x" * 1000
    choices: list[Sequence[Choice]] = [
        asked("Where is the spare key?", option(1, begin + tail, 0.7)) for tail in ("", " key" * 4000)
    ]
    assert choices[0] == choices[1] != []


def test_coefficients_of_another_version_or_shape_are_refused() -> None:
    good = {
        "version": 1,
        "threshold": 0.1,
        "hits": dict.fromkeys(HIT_FEATURES, 1.0),
        "none": {"constant": 0.0, "lead": 0.0, "spread": 0.0},
        "sureness": dict.fromkeys(SURENESS_FEATURES, 0.0),
    }
    assert parse(good).threshold == 0.1
    for change, complaint in (
        ({"version": 2}, "version"),
        ({"threshold": 1.0}, "threshold"),
        ({"none": {"constant": 0.0}}, "none are not the weights"),
        ({"none": {"constant": math.nan, "lead": 0.0, "spread": 0.0}}, "not finite"),
    ):
        with pytest.raises(CoefficientsInvalid, match=complaint):
            parse({**good, **change})
