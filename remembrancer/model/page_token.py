"""Opaque page tokens: a position that is good for one list only."""

from __future__ import annotations

import base64
import binascii
import hashlib

from remembrancer.model.errors import InvalidField


def page_token(of_list: str, position: str) -> str:
    """Return the token of a position in the list that `of_list` describes."""
    raw = f"{_mark(of_list)}:{position}"
    return base64.urlsafe_b64encode(raw.encode()).decode()


def position_of(of_list: str, token: str) -> str:
    """Return the position that a token holds, "" for "". Errors: InvalidField when it is another list's or none."""
    if not token:
        return ""
    try:
        mark, _, position = base64.urlsafe_b64decode(token.encode()).decode().partition(":")
        if mark == _mark(of_list) and position:
            return position
    except (binascii.Error, ValueError):
        pass
    raise InvalidField("page_token", "is not one that this list gave you")


def _mark(of_list: str) -> str:
    return hashlib.sha256(of_list.encode("utf-8", "surrogatepass")).hexdigest()[:16]
