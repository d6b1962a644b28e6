"""Words of a query that say when and not what, such as `currently` or `used to`. English.

They tell what time a question is about, and there they are read (`question_time`). In the search they only stand in the
way: hardly any memory has them, and they draw the vector of the query towards whatever is about time.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from remembrancer.model.analysis_terms import terms_of
from remembrancer.model.text import fold

TIME_WORDS: Final = (
    *("now", "nowadays", "currently", "current", "presently", "still", "already", "yet", "ever", "never", "before"),
    *("previously", "previous", "formerly", "former", "earlier", "originally", "original", "initially", "use", "used"),
)
"""Such words one by one, for where a query's words are compared with those of hits: wherever they stand, and more of
them, since a word too many changes a share there and takes nothing out of a search."""

_ADVERBS: Final = (
    r"right\s+now|now|nowadays|currently|presently|at\s+the\s+moment|at\s+present|these\s+days|so\s+far"
    r"|still|already|yet|ever|any\s?more|in\s+the\s+(?:past|future)|back\s+then"
    r"|previously|formerly|originally|initially"
)
_USED_TO: Final = r"(?:did(?:n['’]t)?\s+\S+\s+use|(?:I|you|he|she|we|they|who|[A-Z]\w+)\s+used)\s+to"
"""A habit of then, not what something is used for."""

_OWNER: Final = r"(?:my|our|your|his|her|its|their|the|\w+['’]s)"
_NOUN_AFTER: Final = r"(?=\s+(?!(?:in|of|at|on|from|to|through|is|was|and|or)\b)\w)"
"""A current, or an original, may be what is asked about; before a noun they say which."""

_ADJECTIVES: Final = rf"(?<=\s)(?:current|present|previous|former|original|initial){_NOUN_AFTER}"

_NO_NOUN: Final = "".join(rf"(?<!\b{word}\s)" for word in ("the", "a", "an", "my", "our", "your", "his", "her", "this"))
"""Behind these the still is a thing."""

_TIME_WORD: Final = re.compile(
    rf"(?<!\S)(?:^(?i:{_ADVERBS}),?|{_NO_NOUN}(?:{_ADVERBS})"
    rf"|(?P<owner>(?i:{_OWNER})\s+)(?:{_ADJECTIVES})|(?P<habit>{_USED_TO}))(?=[?!.,;:]*(?:\s|$))"
)
_GAP: Final = re.compile(r"\s+(?=[?!.,;:])")

_QUESTION: Final = re.compile(
    r"^\W*(?:who|whom|whose|what|which|where|when|why|how|am|is|are|was|were|do|does|did|has|have|had"
    r"|can|could|will|would|shall|should|may|might|must)\b|[?？؟]\W*$",
    re.IGNORECASE,
)


def without_time_words(query: str, names: Collection[str] = ()) -> str:
    """Return a question without its time words; as it is when it is no question, or no other index term is left.

    Words that are written like names, `Now` inside a sentence, parts of identifiers, and those in `names`, which are
    folded, stay.
    """
    if not _QUESTION.search(query):
        return query

    def rest(match: re.Match[str]) -> str:
        if fold(match[0].rstrip(",")) in names:
            return match[0]
        if match["habit"]:
            return match["habit"].rsplit(maxsplit=2)[0]
        return match["owner"] or ""

    asked = _GAP.sub("", " ".join(_TIME_WORD.sub(rest, query).split()))
    return asked if terms_of(asked) else query
