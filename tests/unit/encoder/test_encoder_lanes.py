import asyncio
import threading
import time

import pytest

from workers.encoder.lanes import Lane, Lanes


@pytest.fixture
def lanes() -> Lanes:
    return Lanes(1)


async def occupied(lanes: Lanes) -> tuple[threading.Event, asyncio.Future[bool]]:
    """Hold the only thread until the event is set."""
    release, begun = threading.Event(), threading.Event()

    def hold() -> bool:
        begun.set()
        return release.wait(5)

    held = asyncio.ensure_future(lanes.run(Lane.WRITE, hold))
    async with asyncio.timeout(2):
        while not begun.is_set():  # noqa: ASYNC110  (set by another thread)
            await asyncio.sleep(0.001)
    return release, held


async def test_queries_go_before_writes_that_came_earlier(lanes: Lanes) -> None:
    release, held = await occupied(lanes)
    order: list[str] = []
    waiting = [asyncio.ensure_future(lanes.run(Lane.WRITE, order.append, f"write {i}")) for i in range(3)]
    await asyncio.sleep(0)
    waiting += [asyncio.ensure_future(lanes.run(Lane.QUERY, order.append, f"query {i}")) for i in range(2)]
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(held, *waiting)
    assert order == ["query 0", "query 1", "write 0", "write 1", "write 2"]


async def test_work_cancelled_while_it_waits_is_never_started(lanes: Lanes) -> None:
    release, held = await occupied(lanes)
    done: list[int] = []
    waiting = [asyncio.ensure_future(lanes.run(Lane.QUERY, done.append, i)) for i in range(5)]
    await asyncio.sleep(0)
    for task in waiting[:4]:
        task.cancel()
    release.set()
    await asyncio.gather(held, *waiting, return_exceptions=True)
    assert done == [4]


async def test_threads_are_given_back_after_cancellation_and_failure(lanes: Lanes) -> None:
    running = asyncio.ensure_future(lanes.run(Lane.QUERY, time.sleep, 0.1))
    await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ZeroDivisionError):
        await lanes.run(Lane.QUERY, lambda: 1 // 0)
    assert await asyncio.wait_for(lanes.run(Lane.WRITE, lambda: 7), 2) == 7


async def test_no_more_threads_than_allowed_are_busy() -> None:
    lanes = Lanes(2)
    busy, most = 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.01)
        with lock:
            busy -= 1

    await asyncio.gather(*(lanes.run(Lane(i % 2), work) for i in range(20)))
    assert most == 2


async def test_what_nobody_waits_for_goes_last() -> None:
    lanes, order, go = Lanes(1), list[str](), threading.Event()
    held = asyncio.ensure_future(lanes.run(Lane.WRITE, go.wait))
    await asyncio.sleep(0)
    waiting = [
        asyncio.ensure_future(lanes.run(lane, order.append, lane.name))
        for lane in (Lane.REFILL, Lane.WRITE, Lane.QUERY)
    ]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(held, *waiting)
    assert order == ["QUERY", "WRITE", "REFILL"]
    lanes.close()
