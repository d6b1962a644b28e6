"""The probable answer in the gateway: when there is none and why, and what a plan shows later."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.errors import EncoderUnavailable
from remembrancer.model.fusion import Fused
from remembrancer.model.probable_answer import Choice
from remembrancer.model.probable_answer_coefficients import Coefficients, load
from remembrancer.model.probable_answer_features import Option, Question
from remembrancer.v1 import common_pb2, recall_pb2
from services.gateway.search.answer import SECONDS, Answerer, show_answer
from services.gateway.search.searcher import Found

AS_OF = timestamp_pb2.Timestamp(seconds=1_750_000_000)
ANSWERS, UNAVAILABLE, NOT_ENABLED = (
    recall_pb2.PROBABLE_ANSWER_REASON_NO_MEMORY_ANSWERS,
    recall_pb2.PROBABLE_ANSWER_REASON_UNAVAILABLE,
    recall_pb2.PROBABLE_ANSWER_REASON_NOT_ENABLED,
)


def found(**contents: str) -> Found:
    result = Found()
    for number, content in contents.items():
        n = int(number.removeprefix("n"))
        result.direct.append(Fused(n, 0.8 - n / 100, 0.0, [common_pb2.TIER_ACTIVE]))
        result.records[n] = store_pb2.Record(kind=store_pb2.RECORD_KIND_OBSERVATION, content=content)
    return result


def planned(answerer: Answerer, among: Found, query: str = "Where is the oil?", left: float = 1) -> object:
    return answerer.plan(query, [], AS_OF, among, left)


def test_p47_switched_off_it_says_so_and_does_not_choose() -> None:
    def never(*_: object) -> list[Choice]:
        raise AssertionError

    plan = planned(Answerer(load(), enabled=False, choose=never), found(n1="The oil is in the shed."))
    assert plan == store_pb2.PlannedAnswer(reason=NOT_ENABLED)


@pytest.mark.parametrize("error", [ValueError, ZeroDivisionError, FloatingPointError, KeyError, IndexError])
def test_p48_a_chooser_that_fails_costs_the_probable_answer_only(error: type[Exception]) -> None:
    def failing(*_: object) -> list[Choice]:
        raise error

    plan = planned(Answerer(load(), choose=failing), found(n1="The oil is in the shed."))
    assert plan == store_pb2.PlannedAnswer(reason=UNAVAILABLE)


def test_p48_without_time_left_it_is_not_begun() -> None:
    among = found(n1="The oil is in the shed.")
    assert planned(Answerer(load()), among, left=SECONDS / 2) == store_pb2.PlannedAnswer(reason=UNAVAILABLE)
    assert planned(Answerer(load()), among, left=SECONDS * 2).choices  # type: ignore[attr-defined]


def test_an_empty_list_is_an_answer_unless_a_tier_failed() -> None:
    nothing, failed = Found(), Found(errors={common_pb2.TIER_ACTIVE: EncoderUnavailable("down")})
    assert planned(Answerer(load()), nothing) == store_pb2.PlannedAnswer(reason=ANSWERS)
    assert planned(Answerer(load()), failed) == store_pb2.PlannedAnswer(reason=UNAVAILABLE)


@pytest.mark.parametrize(("query", "seen"), [("Where is the oil?", {1}), ("Where was the oil before?", {1, 2})])
def test_a_memory_that_does_not_hold_any_more_answers_questions_about_the_past_only(query: str, seen: set[int]) -> None:
    offered: set[int] = set()

    def choose(_: Question, options: Sequence[Option], __: Coefficients) -> list[Choice]:
        offered.update(option.n for option in options)
        return []

    among = found(n1="The oil is in the shed.", n2="The oil is in the boat.")
    among.records[2].status = common_pb2.MEMORY_STATUS_STALE
    planned(Answerer(load(), choose=choose), among, query)
    assert offered == seen


def response(*hits: recall_pb2.Hit) -> recall_pb2.RecallResponse:
    return recall_pb2.RecallResponse(hits=recall_pb2.Hits(turns=hits))


def test_a_plan_shows_what_is_left_of_it() -> None:
    plan = store_pb2.PlannedAnswer(
        question_time=recall_pb2.QUESTION_TIME_CURRENT,
        choices=[store_pb2.PlannedChoice(n=n, probability=p) for n, p in ((1, 0.5), (2, 0.3), (3, 0.1))],
    )
    one, two, three = (recall_pb2.Hit(memory_id=f"evt_{n}", content=f"text {n}", occurred_at=AS_OF) for n in (1, 2, 3))

    whole = response(one, two, three)
    show_answer(plan, whole)
    answer = whole.probable_answer
    assert (answer.id, answer.text, answer.timestamp, answer.probability) == ("evt_1", "text 1", AS_OF, 0.5)
    assert answer.question_time == recall_pb2.QUESTION_TIME_CURRENT
    assert [(other.id, other.probability) for other in answer.alternatives] == [("evt_2", 0.3), ("evt_3", 0.1)]
    assert not whole.probable_answer_reason

    without_second = response(one, three)
    show_answer(plan, without_second)
    assert [other.id for other in without_second.probable_answer.alternatives] == ["evt_3"]

    without_first = response(two, three)
    show_answer(plan, without_first)
    assert not without_first.HasField("probable_answer")
    assert without_first.probable_answer_reason == ANSWERS


def test_a_plan_without_a_word_about_it_was_not_asked() -> None:
    answer = response()
    show_answer(store_pb2.RecallPlan().answer, answer)
    assert answer.probable_answer_reason == NOT_ENABLED
    assert not answer.HasField("probable_answer")
