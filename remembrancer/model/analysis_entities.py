"""People, places, things, identifiers and dates in a text, by patterns.

Capitalised spans less a list of words that merely open sentences, words with inner punctuation that look like
identifiers, dates, amounts, and quoted names. It errs on the side of too many: a name that occurs once links nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.analysis_terms import LETTER
from remembrancer.model.analysis_words import EPITHETS, NAMED_FOR, NOT_NAMES, OPENERS
from remembrancer.model.date_patterns import DAY, MONTH, ORDINAL, YEAR
from remembrancer.model.plain_spelling import plain_spelling
from remembrancer.model.text import fold

MAX_ENTITIES = 64
"""Per text; more are left out."""

MAX_LABEL = 80
"""Code points of a label; longer finds are no names."""

_MONTH = rf"(?:{MONTH})\.?"
_DAY = rf"(?:{DAY}){ORDINAL}"
_DATE = re.compile(
    rf"\b(?:{YEAR}-[01]\d(?:-[0-3]\d)?"
    rf"|{_MONTH}\s+{_DAY}(?:,?\s+{YEAR})?"
    rf"|{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{YEAR})?"
    rf"|{_MONTH},?\s+{YEAR})\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?:[$€£¥]\s?\d[\d,]*+(?:\.\d+)?(?:\s?(?:k|million|billion)\b)?"
    r"|\b(?<!\d,)\d[\d,]*+(?:\.\d+)?\s?(?:%|(?:km|kg|mb|gb|tb|ms|mph|miles?|dollars|euros)\b))",
    re.IGNORECASE,
)
# Possessive, and from the start of a word only: a text may be one word of 16000 letters.
_COMPOUND = re.compile(rf"(?<!_)(?<!{LETTER})_*+{LETTER}++(?:(?:://|_+|[-.:/@+#]){LETTER}++)+")
_QUOTED = re.compile(r"[\"“„«「『《]([^\"“”„«»「」『』《》\n]{2,60})[\"”“»」』》]")
_NAME_WORD = rf"{LETTER}+(?:['’-]{LETTER}+)*"
_SPAN = re.compile(rf"{_NAME_WORD}(?:[ \t]+{_NAME_WORD})*")
_JOINERS = frozenset({"of", "the", "de", "la", "van", "von", "der", "del", "du", "da", "di", "al", "and", "for"})
_CONTRACTION = re.compile(r"['’](?:d|m|t|ll|re|ve|all)$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$", re.IGNORECASE)


def entity_id(label: str) -> str:
    """Return `ent_` and 26 characters of [a-z2-7]: 128 bits of SHA-256 over the folded label."""
    raw = hashlib.sha256(fold(label).encode("utf-8", "surrogatepass")).digest()[:16]
    return "ent_" + base64.b32encode(raw).decode("ascii").rstrip("=").lower()


def entities_of(text: str) -> list[store_pb2.Entity]:
    """Return the entities of a text, each once, at most MAX_ENTITIES."""
    text = plain_spelling(text)
    found: dict[str, store_pb2.Entity] = {}
    for label in _labels(text):
        if 1 < len(label) <= MAX_LABEL and any(c.isalnum() for c in label):
            key = entity_id(label)
            found.setdefault(key, store_pb2.Entity(entity_id=key, label=label))
        if len(found) == MAX_ENTITIES:
            break
    return list(found.values())


def _labels(text: str) -> Iterator[str]:
    dates = list(_DATE.finditer(text))
    for match in dates:
        yield match.group()
    rest = _blanked(text, dates)
    compounds = [m for m in _COMPOUND.finditer(rest) if _is_identifier(m.group())]
    for match in compounds:
        yield match.group()
    rest = _blanked(rest, compounds)
    for match in _AMOUNT.finditer(rest):
        yield match.group().strip()
    quoted = list(_QUOTED.finditer(rest))
    for match in quoted:
        yield match.group(1).strip()
    rest = _blanked(rest, quoted)
    for match in _SPAN.finditer(rest):
        yield from _names(match.group().split(), opens=_opens_sentence(rest, match.start()))


def _blanked(text: str, matches: list[re.Match[str]]) -> str:
    # A full stop keeps what stood before and behind from growing together.
    for match in matches:
        text = text[: match.start()] + "." * len(match.group()) + text[match.end() :]
    return text


def _is_identifier(word: str) -> bool:
    """Whether a word with inner punctuation names a thing, rather than being two words joined."""
    has_digit = any(c.isdigit() for c in word)
    has_letter = any(c.isalpha() for c in word)
    if "_" in word.strip("_") or "://" in word or "@" in word:
        return True
    return (has_digit and has_letter) or word.count(".") > 1 or word.count("/") > 1


def _opens_sentence(text: str, at: int) -> bool:
    before = text[:at].rstrip(" \t")
    return not before or not (before[-1].isalnum() or before[-1] in ",)")


def _names(words: list[str], opens: bool) -> Iterator[str]:
    """Yield the capitalised spans in a run of words without punctuation between them; `opens`: it opens a sentence."""
    span: list[str] = []
    for i, word in enumerate([*words, ""]):
        bare = _POSSESSIVE.sub("", word)
        if _is_name(bare, opens and i == 0):
            span.append(bare)
            if bare == word:
                continue
        elif span and _joins(span[-1], word, words[i + 1 : i + 2]):
            span.append(word)
            continue
        yield from _split(span)
        span = []


def _joins(before: str, word: str, after: list[str]) -> bool:
    """Whether a small word may stand inside a name: "Bank of England", not "to Reykjavik for the Falcon Program"."""
    match word:
        case "for":
            return before.casefold() in NAMED_FOR
        case "the":
            return before in _JOINERS - {"and", "the"} or (after != [] and after[0].casefold() in EPITHETS)
        case _:
            return word in _JOINERS


def _split(span: list[str]) -> Iterator[str]:
    # "Melanie and Caroline" are two; "Bank of England" is one.
    group: list[str] = []
    for word in [*span, "and"]:
        if word != "and":
            group.append(word)
            continue
        while group and group[-1] in _JOINERS:
            group.pop()
        while group and group[0] in _JOINERS:
            del group[0]
        if group:
            yield " ".join(group)
        group = []


def _is_name(word: str, opens: bool) -> bool:
    if len(word) < 2 or not word[0].isupper() or _CONTRACTION.search(word):
        return False
    plain = word.casefold()
    return plain not in NOT_NAMES and not (opens and (plain in OPENERS or plain.endswith("ing")))
