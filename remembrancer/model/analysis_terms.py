"""Index terms of a text.

Words are stemmed (Snowball): those in Latin script as English, of which stop words are left out, others by their
script. Punctuation is stripped at the edges of a word only; a
word with punctuation inside, such as `CVE-2024-3094` or `my_repo`, is kept whole and gives its parts as well, except
single letters. Vowel points, stress marks and invisible characters inside words do not count. Scripts
written without spaces between words, and Korean, give characters and pairs of characters, so that any part of a text
is found from one character on. Emoji are terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import Stemmer

from remembrancer.model.analysis_words import STOP_WORDS
from remembrancer.model.plain_spelling import plain_spelling

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""Character ranges of scripts that are indexed by character, as the inside of a regular expression's brackets."""

MARKS = (
    "\u07a6-\u07b0\u07eb-\u07f3\u07fd\u0816-\u082d\u0859-\u085b"  # Thaana, N'Ko, Samaritan, Mandaic
    "\u0900-\u0963\u0966-\u0dff"  # scripts of India, their full stops apart
    "\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e\u0f3f\u0f71-\u0f84\u0f86-\u0fbc\u0fc6"  # Tibetan
    "\u1712-\u1734\u1752-\u1773\u1885-\u18a9\u1920-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1b00-\u1b44\u1b6b-\u1b73"
    "\u1b80-\u1bad\u1be6-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2\u1cd4-\u1cf9"  # of the Philippines, Indonesia, the Himalaya
    "\u2cef-\u2cf1\u2d7f\u302a-\u302f\ua66f-\ua672\ua674-\ua67d\ua69e\ua69f\ua6f0\ua6f1"
    "\ua802-\ua827\ua82c\ua880-\ua8c5\ua8e0-\ua8f1\ua8ff-\ua92d\ua947-\ua953\ua980-\ua9c0\ua9e5\uaa29-\uaa4d"
    "\uaa7b-\uaa7d\uaab0-\uaac1\uaaeb-\uaaef\uaaf5\uaaf6\uabe3-\uabea\uabec\uabed"
)
"""Ranges of combining marks that plain spelling keeps, such as vowel signs, as the inside of a regular expression's
brackets."""

LETTER = rf"(?:(?![{UNSPACED}])[^\W_]|[{MARKS}])"
"""A letter, digit or combining mark of a script with spaces between its words."""

INNER = r"(?:://|_+|[-.:/@+#&'])"
"""What may stand inside a word."""

EMOJI = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
"""Character ranges of pictures, skin tones apart, as the inside of a regular expression's brackets."""

_TOKEN = re.compile(
    rf"(?P<picture>[{EMOJI}])|(?P<unspaced>[{UNSPACED}]+)|(?P<word>(?<!_)_*+{LETTER}+(?:{INNER}{LETTER}+)*)"
)
_PART = re.compile(rf"{LETTER}+(?:'{LETTER}+)*")
_STEMMERS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
"""By the first letter of a word, from and to: the stemmer of the script's most written language; else English."""

_APOSTROPHES = str.maketrans("’ʼ＇", "'''")

MAX_TERM = 128
"""Longer terms are cut: nobody looks for them whole."""


def normalise(text: str) -> str:
    """Return the text in plain spelling and case-folded, with one kind of apostrophe."""
    return plain_spelling(plain_spelling(text).casefold()).translate(_APOSTROPHES)


def terms_of(text: str) -> list[str]:
    """Return the index terms of a text in order, repeated as often as they occur."""
    english = Stemmer.Stemmer("english", 0)  # cheap to make, and not to be shared between threads
    found: list[str] = []
    for match in _TOKEN.finditer(normalise(text)):
        if match["picture"]:
            found.append(match["picture"])
        elif match["unspaced"]:
            found.extend(_characters(match["unspaced"]))
        else:
            found.extend(term[:MAX_TERM] for term in _word(match["word"].lstrip("_"), english))
    return found


def _characters(run: str) -> Iterator[str]:
    yield from run
    for first, second in pairwise(run):
        yield first + second


def _word(word: str, english: Stemmer.Stemmer) -> Iterator[str]:
    parts = _PART.findall(word)
    if len(parts) > 1:
        yield word
    for part in parts:
        left_over = len(parts) > 1 and len(part) == 1 and part.isalpha()
        if part not in STOP_WORDS and not left_over:
            yield _stem(part, english)


def _stem(word: str, english: Stemmer.Stemmer) -> str:
    stemmer = english
    if not word.isascii():
        names = [name for first, last, name in _STEMMERS if first <= word[0] <= last]
        stemmer = Stemmer.Stemmer(names[0], 0) if names else english
    # Some stemmers leave nothing of short words.
    return stemmer.stemWord(word) or word
