"""Reads of however many fields of one hash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from remembrancer.store.partition import Read

FIELDS: Final = 1000
"""Fields asked for by one command; the store's scripting library takes some thousands."""


def field_reads(key: str, names: Sequence[str | int]) -> list[Read]:
    """Return the commands that read these fields; none for no fields."""
    return [("HMGET", key, *map(str, names[i : i + FIELDS])) for i in range(0, len(names), FIELDS)]


def field_values(answers: Iterable[Sequence[bytes | None]]) -> list[bytes | None]:
    """Return the values of all fields, in the order in which `field_reads` was given them, from the answers."""
    return list(chain.from_iterable(answers))
