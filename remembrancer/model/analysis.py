"""What search needs of a text: index terms and entities. The same text gives the same analysis everywhere."""

from __future__ import annotations

from datetime import datetime

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.analysis_entities import entities_of, folded
from remembrancer.model.analysis_terms import terms_of
from remembrancer.model.analysis_words import MONTHS, WEEKDAYS


def fold(text: str) -> str:
    """Return what makes two texts the same: NFKC, case and white space folded."""
    return folded(text)


def analyse(text: str) -> store_pb2.Analysis:
    """Return the index terms and the entities of a text."""
    return store_pb2.Analysis(terms=terms_of(text), entities=entities_of(text))


def date_terms(when: datetime) -> list[str]:
    """Return the words of a date as index terms: day of the month, month, year, weekday."""
    words = f"{when.day} {MONTHS[when.month - 1]} {when.year} {WEEKDAYS[when.weekday()]}"
    return terms_of(words)
