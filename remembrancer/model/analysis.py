"""What search needs of a text: index terms and entities. The same text gives the same analysis everywhere."""

from __future__ import annotations

import hashlib
from datetime import datetime

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.analysis_entities import entities_of
from remembrancer.model.analysis_terms import terms_of
from remembrancer.model.analysis_words import MONTHS, WEEKDAYS
from remembrancer.model.text import fold


def text_key(text: str) -> int:
    """Return a signed 64-bit number that texts have in common which are the same when folded, and hardly any others."""
    digest = hashlib.blake2b(fold(text).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def analyse(text: str) -> store_pb2.Analysis:
    """Return the index terms and the entities of a text."""
    return store_pb2.Analysis(terms=terms_of(text), entities=entities_of(text))


def date_terms(when: datetime) -> list[str]:
    """Return the words of a date as index terms: day of the month, month, year, weekday."""
    words = f"{when.day} {MONTHS[when.month - 1]} {when.year} {WEEKDAYS[when.weekday()]}"
    return terms_of(words)
