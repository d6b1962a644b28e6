"""The probable answer of a recall: worked out once, kept in the plan as ids and numbers, shown with the texts of then.

It looks at the direct hits and changes nothing about them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Final

import structlog
from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model import probable_answer
from remembrancer.model.clock import seconds
from remembrancer.model.ids import number_of
from remembrancer.model.probable_answer import Choice
from remembrancer.model.probable_answer_coefficients import Coefficients
from remembrancer.model.probable_answer_features import Option, Question, considered
from remembrancer.v1 import common_pb2, recall_pb2
from services.gateway.search.searcher import Found

SECONDS: Final = 0.03
"""A choice among ten hits is made in a fraction of this; with less time left it is not begun."""

_MAY_BE_OVER: Final = (
    recall_pb2.QUESTION_TIME_DATE,
    recall_pb2.QUESTION_TIME_EVER,
    recall_pb2.QUESTION_TIME_PAST,
)
"""Questions that a memory which does not hold any more may answer."""

Chooser = Callable[[Question, Sequence[Option], Coefficients], list[Choice]]


class Answerer:
    """Chooses probable answers, or says why there is none."""

    def __init__(
        self, coefficients: Coefficients, *, enabled: bool = True, choose: Chooser = probable_answer.choose
    ) -> None:
        """Take the fitted coefficients; without `enabled` no answer has a probable one."""
        self._coefficients = coefficients
        self._enabled = enabled
        self._choose = choose
        self._log = structlog.get_logger()

    def plan(
        self, query: str, speakers: Sequence[str], as_of: timestamp_pb2.Timestamp, found: Found, seconds_left: float
    ) -> store_pb2.PlannedAnswer:
        """Return the probable answer to a query among what was found; `speakers` are folded names that it mentions."""
        if not self._enabled:
            return _none(recall_pb2.PROBABLE_ANSWER_REASON_NOT_ENABLED)
        if not found.direct:
            failed = bool(found.errors)
            return _none(
                recall_pb2.PROBABLE_ANSWER_REASON_UNAVAILABLE
                if failed
                else recall_pb2.PROBABLE_ANSWER_REASON_NO_MEMORY_ANSWERS
            )
        if seconds_left < SECONDS:
            return _none(recall_pb2.PROBABLE_ANSWER_REASON_UNAVAILABLE)
        try:
            question = Question.of(query, speakers, as_of.ToDatetime(UTC))
            choices = self._choose(question, considered(_options(question, found)), self._coefficients)
        except (ArithmeticError, LookupError, ValueError) as error:
            # The hits are right all the same; a recall does not fail for want of this extra.
            self._log.warning("no probable answer", error=type(error).__name__)
            return _none(recall_pb2.PROBABLE_ANSWER_REASON_UNAVAILABLE)
        if not choices:
            return _none(recall_pb2.PROBABLE_ANSWER_REASON_NO_MEMORY_ANSWERS)
        return store_pb2.PlannedAnswer(
            question_time=question.time,
            choices=[store_pb2.PlannedChoice(n=choice.n, probability=choice.probability) for choice in choices],
        )


def show_answer(planned: store_pb2.PlannedAnswer, response: recall_pb2.RecallResponse) -> None:
    """Set the probable answer of a response, or the reason, from its hits.

    When the chosen memory was erased meanwhile nothing answers; an unset plan is one that was not asked for.
    """
    hits = {number_of(hit.memory_id): hit for hit in (*response.hits.observations, *response.hits.turns)}
    shown = [(hits[choice.n], choice.probability) for choice in planned.choices if choice.n in hits]
    if not planned.choices:
        response.probable_answer_reason = planned.reason or recall_pb2.PROBABLE_ANSWER_REASON_NOT_ENABLED
        return
    if planned.choices[0].n not in hits:
        response.probable_answer_reason = recall_pb2.PROBABLE_ANSWER_REASON_NO_MEMORY_ANSWERS
        return
    (chosen, probability), *others = shown
    response.probable_answer.CopyFrom(
        recall_pb2.ProbableAnswer(
            id=chosen.memory_id,
            text=chosen.content,
            timestamp=chosen.occurred_at,
            probability=probability,
            question_time=planned.question_time,
            alternatives=[recall_pb2.AlternativeAnswer(id=hit.memory_id, probability=p) for hit, p in others],
        )
    )


def _options(question: Question, found: Found) -> list[Option]:
    records = ((hit, found.records[hit.n]) for hit in found.direct)
    return [
        Option(
            n=hit.n,
            relevance=hit.relevance,
            content=record.content,
            speaker=record.name or record.role,
            conversation=record.axes.conversation_id if record.kind == store_pb2.RECORD_KIND_TURN else None,
            at=None if record.time_uncertain else seconds(record.occurred_at),
        )
        for hit, record in records
        if record.status != common_pb2.MEMORY_STATUS_STALE or question.time in _MAY_BE_OVER
    ]


def _none(reason: recall_pb2.ProbableAnswerReason.ValueType) -> store_pb2.PlannedAnswer:
    return store_pb2.PlannedAnswer(reason=reason)
