"""Speaker names: known ones that a query mentions are a signal of their own and stay out of the embedded text."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from remembrancer.model.text import fold

_WORD: Final = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_POSSESSIVE: Final = re.compile(r"['’]s?$")

WORDS_LOOKED_AT: Final = 64
LONGEST_NAME: Final = 3


def names_of(speaker: str) -> list[str]:
    """Return the folded forms under which a speaker is known: the whole name and each of its words of 2+ letters."""
    whole = fold(speaker)
    return list(dict.fromkeys([whole, *(w for w in whole.split() if len(w) > 1)])) if whole else []


def candidates(query: str) -> list[str]:
    """Return the folded one- to three-word spans of a query that could be names, each once."""
    words = [_bare(m[0]) for m in _WORD.finditer(query)][:WORDS_LOOKED_AT]
    spans = (" ".join(words[i : i + size]) for size in range(1, LONGEST_NAME + 1) for i in range(len(words) - size + 1))
    return list(dict.fromkeys(spans))


def without(query: str, names: Collection[str]) -> str:
    """Return the query without the names, possessive endings included; the query itself if nothing else is left."""
    single = {word for name in names for word in name.split()}
    kept, position = [], 0
    for match in _WORD.finditer(query):
        if _bare(match[0]) in single:
            kept.append(query[position : match.start()])
            position = match.end()
    kept.append(query[position:])
    rest = " ".join("".join(kept).split())
    return rest if _WORD.search(rest) else query


def _bare(word: str) -> str:
    return fold(_POSSESSIVE.sub("", word))
