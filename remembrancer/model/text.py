"""Rules for texts in requests. Lengths are Unicode code points."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from remembrancer.model.errors import InvalidField

_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def is_blank(text: str) -> bool:
    """Return whether a text has nothing but white space, zero-width and control characters."""
    return all(unicodedata.category(c) in _INVISIBLE for c in text)


def trimmed(text: str) -> str:
    """Return the text without white space, zero-width and control characters at its ends.

    Format characters inside, such as the joiners of emoji sequences, stay.
    """
    start, end = 0, len(text)
    while start < end and unicodedata.category(text[start]) in _INVISIBLE:
        start += 1
    while end > start and unicodedata.category(text[end - 1]) in _INVISIBLE:
        end -= 1
    return text[start:end]


def require(field: str, text: str, limit: int) -> str:
    """Return a nonblank text of at most `limit` code points. Errors: InvalidField naming `field`."""
    if is_blank(text):
        raise InvalidField(field, "must not be blank")
    return bounded(field, text, limit)


def bounded(field: str, text: str, limit: int) -> str:
    """Return a text of at most `limit` code points, which may be empty. Errors: InvalidField naming `field`."""
    if len(text) > limit:
        raise InvalidField(field, f"must have at most {limit} characters, has {len(text)}")
    return text


def counted(field: str, items: Sequence[object], low: int, high: int) -> None:
    """Check that a repeated field has `low` to `high` entries. Errors: InvalidField naming `field`."""
    if not low <= len(items) <= high:
        raise InvalidField(field, f"must have {low} to {high} entries, has {len(items)}")


def request_id(value: str) -> str:
    """Return a request_id of at most 64 printable ASCII characters, "" when none was given."""
    if len(value) > 64 or not all(" " < c < "\x7f" for c in value):
        raise InvalidField("request_id", "must be 1 to 64 printable ASCII characters")
    return value
