"""What the choice of a probable answer looks at: cheap features of the best hits, and of the list as a whole.

Every feature means the same on any store. A hit's relevance counts against the list it stands in, because its level
differs with how people write; only below the floor it counts in itself, so that an off-topic query has no answer. Lists
shorter than CONSIDERED are filled up with what a typical hit that does not answer looks like.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from remembrancer.model.analysis_terms import terms_of
from remembrancer.model.calendar import Window
from remembrancer.model.dates import windows_of
from remembrancer.model.fusion import RELEVANCE_FLOOR
from remembrancer.model.question_time import QuestionTime, question_time
from remembrancer.model.speakers import without
from remembrancer.model.time_words import TIME_WORDS
from remembrancer.v1 import recall_pb2

Values = NDArray[np.float64]

CONSIDERED: Final = 10
"""Hits looked at, best relevance first; an answer below them is not worth naming."""

READ: Final = 500
"""Code points read of the query and of each hit: what a hit shows, so that the fit sees what the gateway sees."""

MOST_TERMS: Final = 25
"""Different terms from which a text counts as long."""

TYPICAL_RELEVANCE: Final = 0.25
"""Of a hit that is at best near the subject; what is below counts as much, so that one good hit stands out no more in
a large store than in a small one."""

TYPICAL_LENGTH: Final = 2.3
"""Length feature of a typical chat turn: nine different terms."""

RARE: Final = 2
"""A term of the question that more of the considered hits have does not tell them apart."""

ALIKE: Final = 1 / 3
"""Share of the shorter text's terms from which two texts may be about the same thing."""

ASKED: Final = 0.5
"""Share of the question's terms from which it counts that both texts have them; squared, for half says little yet."""


CLOSE: Final = 0.2
"""Difference in relevance at which a conflict counts for 1/e."""

CALM: Final = 0.25
"""Weight of there being no conflict, so that a faint one does not count as much as a clear one."""

AFTERWARDS: Final = 14 * 86400
"""Seconds after a window in which people still tell what happened in it; counts half."""

HIT_FEATURES: Final = (
    "above",
    "below_floor",
    "length",
    "is_question",
    "follows_question",
    "rare_terms",
    "newest",
    "oldest",
    "inside",
)
LIST_FEATURES: Final = ("constant", "lead", "spread")

_TIME_TERMS: Final = frozenset(term for word in TIME_WORDS for term in terms_of(word))
_ENDS_AS_QUESTION: Final = re.compile(r"[?？؟][\s\"'”’)]*$")


@dataclass(frozen=True, slots=True)
class Question:
    """A query as the choice sees it."""

    terms: frozenset[str]
    """Index terms of what is asked: without names of speakers and words that say when, if anything else is left."""
    time: QuestionTime
    windows: tuple[Window, ...]

    @classmethod
    def of(cls, query: str, speakers: Sequence[str], as_of: datetime) -> Question:
        """Return a query read; `speakers` are folded names that it mentions, `as_of` is aware, in UTC."""
        query = query[:READ]
        windows = tuple(windows_of(query, as_of))
        beside = _TIME_TERMS.union(*(terms_of(speaker) for speaker in speakers))
        terms = frozenset(terms_of(query))
        asked = frozenset(term for term in terms if term not in beside and term.split("'")[0] not in beside)
        return cls(asked or terms, question_time(without(query, speakers), windows), windows)


@dataclass(frozen=True, slots=True)
class Option:
    """One direct hit. `at` is seconds since 1970, None when its time is uncertain; `conversation` None = no turn."""

    n: int
    relevance: float
    content: str
    speaker: str
    conversation: str | None
    at: float | None


@dataclass(frozen=True, slots=True)
class Features:
    """`hits`: (options, HIT_FEATURES); `whole`: (LIST_FEATURES,); `covered`: 0..1, terms of the question in any hit."""

    hits: Values
    whole: Values
    covered: float


def considered(options: Sequence[Option]) -> list[Option]:
    """Return the options that the choice looks at: by descending relevance, then by N."""
    return sorted(options, key=lambda o: (-o.relevance, o.n))[:CONSIDERED]


def features(question: Question, options: Sequence[Option]) -> Features:
    """Return the features of 1..CONSIDERED options, in their order."""
    terms = [frozenset(terms_of(option.content[:READ])) for option in options]
    relevance = np.array([option.relevance for option in options])
    level = np.full(CONSIDERED, TYPICAL_RELEVANCE)
    level[: len(options)] = np.maximum(relevance, TYPICAL_RELEVANCE)
    level = np.sort(level)[::-1]
    asks = [bool(_ENDS_AS_QUESTION.search(option.content)) for option in options]
    conflict = _conflicts(question, options, terms)
    columns = {
        "above": relevance - level.mean(),
        "below_floor": np.maximum(RELEVANCE_FLOOR - relevance, 0.0),
        "length": _lengths(terms),
        "is_question": np.array(asks, float),
        "follows_question": _follows(options, asks),
        "rare_terms": _rare(question, terms),
        "newest": conflict * (question.time == recall_pb2.QUESTION_TIME_CURRENT),
        "oldest": -conflict * (question.time == recall_pb2.QUESTION_TIME_PAST),
        "inside": np.array([_inside(question.windows, option.at) for option in options]),
    }
    whole = {"constant": 1.0, "lead": level[0] - level[1], "spread": level[0] - level.mean()}
    return Features(
        hits=np.stack([columns[name] for name in HIT_FEATURES], axis=1),
        whole=np.array([whole[name] for name in LIST_FEATURES]),
        covered=len(question.terms & frozenset().union(*terms)) / max(1, len(question.terms)),
    )


def _lengths(terms: Sequence[frozenset[str]]) -> Values:
    """Lengths against the list's: how long people write must not sway whether there is an answer at all."""
    own = np.array([math.log1p(min(len(t), MOST_TERMS)) for t in terms])
    mean = (own.sum() + (CONSIDERED - len(own)) * TYPICAL_LENGTH) / CONSIDERED
    return np.asarray(own - mean)


def _follows(options: Sequence[Option], asks: Sequence[bool]) -> Values:
    """1 where the turn right before is a question by somebody else and among the hits."""
    asked = {o.n: o for o, question in zip(options, asks, strict=True) if question and o.conversation is not None}

    def follows(option: Option) -> bool:
        before = asked.get(option.n - 1)
        return before is not None and before.conversation == option.conversation and before.speaker != option.speaker

    return np.array([float(follows(option)) for option in options])


def _rare(question: Question, terms: Sequence[frozenset[str]]) -> Values:
    telling = {t for t in question.terms if sum(t in own for own in terms) <= RARE}
    return np.array([len(telling & own) / max(1, len(question.terms)) for own in terms])


def _conflicts(question: Question, options: Sequence[Option], terms: Sequence[frozenset[str]]) -> Values:
    """-1..1: how much newer (older: below 0) each option is than others about the same thing.

    What somebody else said is no conflict.
    """
    found = np.zeros(len(options))
    for i, one in enumerate(options):
        signed = weights = 0.0
        for j, other in enumerate(options):
            if one.at is None or other.at is None or one.at == other.at or _differ(one.speaker, other.speaker):
                continue
            weight = _same_thing(question, terms[i], terms[j])
            weight *= math.exp(-(((one.relevance - other.relevance) / CLOSE) ** 2))
            signed += weight * (1 if one.at > other.at else -1)
            weights += weight
        found[i] = signed / (weights + CALM)
    return found


def _differ(one: str, other: str) -> bool:
    """Whether two memories are known to be of different speakers; statements that are no turns are nobody's."""
    return one != other and bool(one) and bool(other)


def _same_thing(question: Question, one: frozenset[str], other: frozenset[str]) -> float:
    """0..1: how far two texts are about the same thing: what they share of all their words, or of the question's."""
    shared = one & other
    alike = len(shared) / max(1, min(len(one), len(other)))
    asked = len(shared & question.terms) / max(1, len(question.terms))
    return max(alike if alike >= ALIKE else 0.0, asked**2 if asked >= ASKED else 0.0)


def _inside(windows: Sequence[Window], at: float | None) -> float:
    if at is None:
        return 0.0
    after = [(at - window.start.timestamp(), at - window.end.timestamp()) for window in windows]
    if any(since_start >= 0 > since_end for since_start, since_end in after):
        return 1.0
    return 0.5 if any(0 <= since_end < AFTERWARDS for _, since_end in after) else 0.0
