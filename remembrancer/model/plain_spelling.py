"""Texts as people type them when they search: without vowel points, stress marks and invisible characters in words."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_POINTS: Final = (
    "\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\u2de0-\u2dff\ufe20-\ufe2f"  # of several scripts
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\ufb1e"  # Hebrew
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"  # Arabic
    "\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff"  # further Arabic
    "\u0711\u0730-\u074a\u135d-\u135f"  # Syriac, Ethiopic
)
"""Character ranges of points and stress marks, and the stroke that stretches Arabic words."""

_INVISIBLE: Final = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0001\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
)
"""What Unicode calls default ignorable: soft hyphens, joiners, directions, selectors."""

_LEFT_OUT: Final = re.compile(rf"[{_POINTS}]|(?<=[\u05d0-\u05ea])[\"\u05f4\u201d](?=[\u05d0-\u05ea])")
"""Points, and the sign of a Hebrew abbreviation, which is typed as a quotation mark."""


def plain_spelling(text: str) -> str:
    """Return the text NFKC-normalised, without points and invisible characters. Letters such as é, й and ё stay."""
    # An invisible character may keep a letter and its mark from composing.
    return _LEFT_OUT.sub("", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)))
