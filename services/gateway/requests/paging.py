"""Pages of lists: opaque tokens, and how much fits on a page."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message

from remembrancer.model.errors import InvalidField

PAGE_BYTES: Final = 2**20
"""The most that the entries of one page take."""

M = TypeVar("M", bound=Message)


def page_token(listed: str, position: str) -> str:
    """Return a token for `position` in the list named `listed`; it is good for that list only."""
    return base64.urlsafe_b64encode(f"{listed}|{position}".encode()).decode()


def position_of(token: str, listed: str) -> str:
    """Return the position that a token of this list stands for, "" for "". Errors: InvalidField."""
    if not token:
        return ""
    try:
        owner, _, position = base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode().partition("|")
    except (binascii.Error, ValueError):
        owner = position = ""
    if owner != listed or not position:
        raise InvalidField("page_token", "is not one that this list gave you")
    return position


def fitting(entries: Iterable[M]) -> Sequence[M]:
    """Return the first entries that fit on a page; at least one, so that every page gets somewhere."""
    page: list[M] = []
    room = PAGE_BYTES
    for entry in entries:
        room -= entry.ByteSize() + 8
        if page and room < 0:
            break
        page.append(entry)
    return page
