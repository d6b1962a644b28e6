"""How dates are written in English: parts of regular expressions, to be matched whatever the case."""

from __future__ import annotations

from typing import Final

from remembrancer.model.analysis_words import MONTHS

MONTH: Final = "|".join((*MONTHS, *(m[:3] for m in MONTHS if len(m) > 3), "sept"))
"""Alternatives: full names, and short ones without their full stop."""

DAY: Final = r"[12]\d|3[01]|0?[1-9]"
"""Alternatives: the day of a month in digits."""

ORDINAL: Final = r"(?:st|nd|rd|th)?"
"""What may follow a day."""

YEAR: Final = r"(?:19|20)\d\d"
