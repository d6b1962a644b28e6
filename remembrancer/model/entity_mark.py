"""Marks by which remembered answers point to an entity in a record, without saying anything of its name."""

from __future__ import annotations

import zlib
from typing import Final

BITS: Final = 16
"""Enough to tell the entities of one record apart, and shared by many names, so that no name can be guessed from it."""


def mark_of(entity_id: str) -> int:
    """Return the mark of an entity: 1..65536."""
    return zlib.crc32(entity_id.encode()) % (1 << BITS) + 1
