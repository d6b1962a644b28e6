"""Checks of enum numbers in requests: those that this server does not know are refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from remembrancer.model.errors import InvalidField


def known(field: str, enum: Any, value: int, *, required: bool = False) -> None:
    """Check one number against its enum. Errors: InvalidField naming `field` and what is allowed."""
    if value in enum.values() and (value or not required):
        return
    names = [name for name, number in enum.items() if number]
    raise InvalidField(field, f"must be one of {', '.join(names)}")


def all_known(field: str, enum: Any, values: Iterable[int]) -> None:
    """Check a repeated enum field, in which UNSPECIFIED is not allowed."""
    for i, value in enumerate(values):
        known(f"{field}[{i}]", enum, value, required=True)
