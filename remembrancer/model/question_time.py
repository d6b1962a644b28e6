"""What time a question is about, by the words it is asked in. English; anything else is TIMELESS.

Where several kinds fit, the first in this order wins: DATE, EVER, FUTURE, PAST, CURRENT, TIMELESS.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from remembrancer.model.calendar import Window
from remembrancer.v1 import recall_pb2

QuestionTime: TypeAlias = recall_pb2.QuestionTime.ValueType

_OWNER: Final = r"(?:my|our|your|his|her|its|their)"
_BE: Final = r"(?:am|are|is|['’](?:m|s|re))"


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?<!\w)(?:{pattern})\b" for pattern in patterns), re.IGNORECASE)


_EVER: Final = _words(
    r"(?<!for )(?<!than )ever(?!\s+since)",
    r"never",
    r"how\s+(?:often|many\s+times|frequently)",
    r"at\s+any\s+(?:time|point)",
    r"even\s+once",
)
_WHETHER: Final = re.compile(r"^\W*(?:have|has|haven['’]t|hasn['’]t)\s+(?!to\b)\S+\s+(?!got\b|to\b)\w+", re.IGNORECASE)
"""Opens with the present perfect: whether something happened at any time up to now."""

_FUTURE: Final = _words(
    r"will|won['’]t|shall|\w+['’]ll",
    rf"{_BE}\s+(?:\S+\s+){{0,3}}(?:going|about)\s+to\s+(?!the\b|an?\b|{_OWNER}\b)\w+",
    rf"(?:where|who|when|what|which\s+\w+)(?:\s+{_BE}|['’]s)\s+(?:\w+\s+)?next",
    r"upcoming|forthcoming|looking\s+forward\s+to|in\s+(?:the\s+)?future|some\s*day|from\s+now\s+on",
)
_PLANS: Final = _words(r"plan(?:s|ned|ning)?|intend(?:s|ed|ing)?|intentions?")
_THEN: Final = _words(r"was|were|did|had")
_PAST: Final = _words(
    r"used?\s+to",
    r"before(?!\s+(?:long|next|the\s+end\s+of))",
    r"previous(?:ly)?|former(?:ly)?|prior|earlier|original(?:ly)?|initial(?:ly)?",
    r"no\s+longer|any\s*more|in\s+the\s+past|back\s+then|at\s+(?:first|that\s+time|the\s+(?:time|beginning))",
    rf"{_OWNER}\s+(?:old|ex)",
    rf"(?:was|were)\s+(?:{_OWNER}|the|\w+['’]s?)\s+(?:old|first|last)",
)
_CURRENT: Final = _words(
    r"now|nowadays|current(?:ly)?|presently|at\s+(?:the\s+moment|present)|these\s+days",
    r"still|already|yet|so\s+far|latest|newest|most\s+recent|up\s+to\s+date",
    r"(?:where|who|what|which\s+\w+)\s+(?:i|we)\s+(?!(?:was|were|had|did|could|would|\w+ed)\b)\w+",
)
_ASKED_AS_PRESENT: Final = _words(r"(?:what|who|where|which|when)['’]?s", r"(?:what|who|where)['’]re", r"who\s+has")
_HOW_OR_WHY: Final = re.compile(
    r"^\W*(?:why|how)\b(?!\s+(?:many|much|old|long|far|big|large|tall|high|big|late|early))", re.IGNORECASE
)
_AUXILIARY: Final = _words(
    r"(?P<present>am|are|is|do|does|aren['’]t|isn['’]t|don['’]t|doesn['’]t)",
    r"(?P<other>has|have|did|didn['’]t|was|were|had|would|could|should|can|may|might|must)",
)
_WHO_DOES: Final = re.compile(r"^\W*who\s+(?!was\b|has\b)\w+[^s\W]s\b", re.IGNORECASE)


def question_time(query: str, windows: Sequence[Window]) -> QuestionTime:
    """Return what time a query is about; `windows` are the spans that it names, see remembrancer.model.dates."""
    if windows:
        return recall_pb2.QUESTION_TIME_DATE
    if _EVER.search(query) or _WHETHER.search(query):
        return recall_pb2.QUESTION_TIME_EVER
    # What was planned before is no plan any more.
    former_plan = _THEN.search(query) and _PAST.search(query)
    if _FUTURE.search(query) or (_PLANS.search(query) and not former_plan):
        return recall_pb2.QUESTION_TIME_FUTURE
    if _PAST.search(query):
        return recall_pb2.QUESTION_TIME_PAST
    if _CURRENT.search(query) or _is_present(query):
        return recall_pb2.QUESTION_TIME_CURRENT
    return recall_pb2.QUESTION_TIME_TIMELESS


def _is_present(query: str) -> bool:
    """Whether a question asks in the present tense what holds; how and why ask about no time in particular."""
    if _HOW_OR_WHY.search(query):
        return False
    if _ASKED_AS_PRESENT.match(query.lstrip()) or _WHO_DOES.search(query):
        return True
    first = _AUXILIARY.search(query)
    return first is not None and first["present"] is not None
