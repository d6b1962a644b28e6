"""How often a change is tried while others change the same things."""

from __future__ import annotations

import pytest

from remembrancer.model.errors import Conflict
from services.gateway.shared.retries import insist, tries


async def test_tries_are_counted_from_nought() -> None:
    assert [attempt async for attempt in tries(3)] == [0, 1, 2]


async def test_an_attempt_is_made_until_it_succeeds() -> None:
    outcomes = [False, False, True, True]

    async def attempt() -> bool:
        return outcomes.pop(0)

    await insist(attempt, 4, "rivals")
    assert outcomes == [True]


async def test_attempts_end_in_a_conflict() -> None:
    made = 0

    async def attempt() -> bool:
        nonlocal made
        made += 1
        return False

    with pytest.raises(Conflict, match="rivals"):
        await insist(attempt, 3, "rivals")
    assert made == 3
