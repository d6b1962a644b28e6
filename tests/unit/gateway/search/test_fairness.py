"""The gate that shares workers among partitions."""

from __future__ import annotations

import asyncio

import pytest

from remembrancer.model.errors import Overloaded
from services.gateway.search.fairness import PartitionGate


async def _hold(gate: PartitionGate, partition: str, entered: list[str], leave: asyncio.Event) -> None:
    async with gate.passed(partition):
        entered.append(partition)
        await leave.wait()


async def test_f12_one_partition_fills_its_share_and_leaves_the_others_theirs() -> None:
    gate, leave = PartitionGate(running=2, waiting=1), asyncio.Event()
    entered: list[str] = []
    calls = [asyncio.create_task(_hold(gate, "a", entered, leave)) for _ in range(3)]
    await asyncio.sleep(0)
    assert entered == ["a", "a"]
    with pytest.raises(Overloaded):
        await _hold(gate, "a", entered, leave)
    calls.append(asyncio.create_task(_hold(gate, "b", entered, leave)))
    await asyncio.sleep(0)
    assert entered == ["a", "a", "b"]
    leave.set()
    await asyncio.gather(*calls)
    assert entered == ["a", "a", "b", "a"]


async def test_a_cancelled_call_gives_its_place_back() -> None:
    gate, never = PartitionGate(running=1, waiting=1), asyncio.Event()
    entered: list[str] = []
    inside, waiting = (asyncio.create_task(_hold(gate, "a", entered, never)) for _ in range(2))
    await asyncio.sleep(0)
    for call in (waiting, inside):
        call.cancel()
    await asyncio.gather(inside, waiting, return_exceptions=True)
    never.set()
    await asyncio.wait_for(asyncio.gather(*(_hold(gate, "a", entered, never) for _ in range(2))), 1)
    assert entered == ["a"] * 3
