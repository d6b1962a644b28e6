"""Checks of enum numbers in requests: those that this server does not know are refused."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from remembrancer.model.errors import InvalidField
from remembrancer.model.text import counted

MOST: Final = 100
"""Entries of a repeated enum field: far more than there are different ones, and soon looked through."""


def known(field: str, enum: Any, value: int, *, required: bool = False) -> None:
    """Check one number against its enum. Errors: InvalidField naming `field` and what is allowed."""
    if value in enum.values() and (value or not required):
        return
    names = [name for name, number in enum.items() if number]
    raise InvalidField(field, f"must be one of {', '.join(names)}")


def all_known(field: str, enum: Any, values: Collection[int]) -> None:
    """Check a repeated enum field of at most `MOST` entries, in which UNSPECIFIED is not allowed."""
    counted(field, values, 0, MOST)
    for i, value in enumerate(values):
        known(f"{field}[{i}]", enum, value, required=True)
