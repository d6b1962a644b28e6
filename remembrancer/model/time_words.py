"""Words of a query that say when and not what, such as `currently` or `used to`. English.

They tell what time a question is about, and there they are read (`question_time`). In the search they only stand in the
way: hardly any memory has them, and they draw the vector of the query towards whatever is about time.
"""

from __future__ import annotations

import re
from typing import Final

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
_TIME_WORD: Final = re.compile(
    rf"^\W*(?i:{_ADVERBS})\b,?|\s*(?<!\w)(?:{_ADVERBS})\b"
    rf"|(?P<owner>(?i:{_OWNER})\s+)(?:{_ADJECTIVES})\b|(?<!\w)(?P<habit>{_USED_TO})\b"
)
_WORD: Final = re.compile(r"\w")


def without_time_words(query: str) -> str:
    """Return a query without its time words, or as it is when nothing else is left.

    Words that are written like names, `Now` inside a sentence, stay.
    """
    rest = " ".join(_TIME_WORD.sub(_rest, query).split())
    return rest if _WORD.search(rest) else query


def _rest(match: re.Match[str]) -> str:
    if match["habit"]:
        return match["habit"].rsplit(maxsplit=2)[0]
    return match["owner"] or ""
