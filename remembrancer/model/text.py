"""Rules for texts: what requests may hold, and which are the same. Lengths are Unicode code points."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Final

from remembrancer.model.errors import InvalidField

_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_IGNORABLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Unicode calls default ignorable and that are letters or marks by category: fillers, selectors."""

_WHITE_SPACE: Final = (
    "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000 "
)
_ZERO_WIDTH: Final = "\xad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
_DIRECTIONS: Final = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f"
_CONTROLS: Final = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
_EDGE: Final = _WHITE_SPACE + _ZERO_WIDTH + _DIRECTIONS + _CONTROLS


def is_blank(text: str) -> bool:
    """Return whether a text has nothing but white space, zero-width and control characters."""
    # Most texts show something at their beginning; in a megabyte of blanks each character is looked at once.
    return all(map(_is_invisible, text[:64])) and all(map(_is_invisible, set(text)))


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE or _IGNORABLE.match(character) is not None


def trimmed(text: str) -> str:
    """Return the text without white space, zero-width and control characters at its ends.

    What belongs to a visible character stays, such as the tags of a flag or the selector that makes a heart red.
    """
    return text.strip(_EDGE)


def fold(text: str) -> str:
    """Return what a search takes for the same: NFKC, case and white space folded, so that 10⁹ is 109."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def same_text_key(text: str) -> str:
    """Return what makes two stored texts equal: NFC, case and white space folded, so that 10⁹ is not 109."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def require(field: str, text: str, limit: int) -> str:
    """Return a nonblank text of at most `limit` code points. Errors: InvalidField naming `field`."""
    bounded(field, text, limit)
    if is_blank(text):
        raise InvalidField(field, "must not be blank")
    return text


def bounded(field: str, text: str, limit: int) -> str:
    """Return a text of at most `limit` code points, which may be empty. Errors: InvalidField naming `field`."""
    if len(text) > limit:
        raise InvalidField(field, f"must have at most {limit} characters, has {len(text)}")
    return text


def counted(field: str, items: Collection[object], low: int, high: int) -> None:
    """Check that a repeated field has `low` to `high` entries. Errors: InvalidField naming `field`."""
    if not low <= len(items) <= high:
        raise InvalidField(field, f"must have {low} to {high} entries, has {len(items)}")


def request_id(value: str, field: str = "request_id") -> str:
    """Return an id of at most 64 printable ASCII characters, "" when none was given. Errors: InvalidField."""
    if len(value) > 64 or not all(" " < c < "\x7f" for c in value):
        raise InvalidField(field, "must be 1 to 64 printable ASCII characters")
    return value
