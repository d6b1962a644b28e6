"""Whether a partition is in the registry of scopes, as those who write records must know it.

A change cannot look at the registry, which is no part of the partition. So a partition whose scope was struck out has a
note in `meta`; who writes records registers the scope after reading it, and takes it away with the records.
"""

from __future__ import annotations

from typing import Final

from remembrancer.store.change import Change

UNLISTED: Final = "unlisted"
"""Field of `meta`: there once the scope was struck out of the registries; another value each time."""


def require_listed(change: Change, unlisted: bytes | None) -> None:
    """Have the change fail when the note is another than was read, and take it away."""
    change.require_same("registration", change.keys.meta, UNLISTED, unlisted)
    if unlisted is not None:
        change.write("HDEL", change.keys.meta, UNLISTED)
