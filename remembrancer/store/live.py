"""The numbers of the records that a partition has: whoever walks it walks these, not all numbers ever given out.

`Change` keeps both sorted sets as it writes records. They are as large as the hash of records. Where they are not, as
in a partition that was written before they existed, they are made anew before anything is read from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from remembrancer.model.errors import Conflict
from remembrancer.store import decode
from remembrancer.store.change import Change, numbered
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied, PartitionStore, Read
from remembrancer.store.tally import Counted, counted_as

PAGE: Final = 200
"""Records looked at in one step of making the sets anew."""

ATTEMPTS: Final = 8
"""How often the sets are made anew while others write."""


async def newest_below(store: PartitionStore, keys: PartitionKeys, below: int | None, count: int) -> list[int]:
    """Return the highest `count` numbers below one, None = all, descending. Errors: see `_read`."""
    upper = "+inf" if below is None else f"({below}"
    (found,) = await _read(store, keys, ("ZREVRANGEBYSCORE", keys.live, upper, "1", "LIMIT", "0", str(count)))
    return _numbers(found)


async def oldest_after(
    store: PartitionStore, keys: PartitionKeys, after: int, count: int, last: int | None = None
) -> list[int]:
    """Return the lowest `count` numbers after one, up to `last`, None = all, ascending. Errors: see `_read`."""
    upper, lower = "+inf" if last is None else str(last), f"({max(0, after)}"
    (found,) = await _read(store, keys, ("ZRANGEBYSCORE", keys.live, lower, upper, "LIMIT", "0", str(count)))
    return _numbers(found)


async def tally(store: PartitionStore, keys: PartitionKeys) -> Mapping[Counted, int]:
    """Return how many records count as what. Errors: see `_read`."""
    counts = await _read(store, keys, *(("ZCOUNT", keys.tally, str(int(c)), str(int(c))) for c in Counted))
    return dict(zip(Counted, counts, strict=True))


async def _read(store: PartitionStore, keys: PartitionKeys, *reads: Read) -> list[Any]:
    """Read from the sets, which are made anew first if need be. Errors: Conflict, StoreDamaged, StoreUnavailable."""
    for _ in range(ATTEMPTS):
        sizes: list[Read] = [("HLEN", keys.records), ("ZCARD", keys.live), ("ZCARD", keys.tally)]
        records, live, counted, *answers = (await store.read(*sizes, *reads)).answers
        if records == live == counted:
            return list(answers)
        await _make(store, keys, empty=max(live, counted) > records)
    raise Conflict("the scope is written to faster than it can be looked through; try again")


async def _make(store: PartitionStore, keys: PartitionKeys, *, empty: bool) -> None:
    """Put every record into the sets; `empty` them first when they name some that are gone."""
    types = (await store.read(("TYPE", keys.live), ("TYPE", keys.tally))).answers
    if empty or not {*types} <= {b"zset", b"none"}:
        change = Change(keys)
        change.write("UNLINK", keys.live)
        change.write("UNLINK", keys.tally)
        await store.apply(change)
    cursor = "0"
    while True:
        raw_cursor, found = await store.read_one(("HSCAN", keys.records, cursor, "COUNT", str(PAGE)))
        pairs = dict(zip(found[::2], found[1::2], strict=True))
        if not await _put(store, keys, pairs):
            for name in pairs:
                # One that was written meanwhile was put there by its own change.
                await _put(store, keys, {name: pairs[name]})
        cursor = raw_cursor.decode()
        if cursor == "0":
            return


async def _put(store: PartitionStore, keys: PartitionKeys, pairs: Mapping[bytes, bytes]) -> bool:
    change = Change(keys)
    for name, raw in pairs.items():
        change.require_same("record", keys.records, name, raw)
        change.write("ZADD", keys.live, numbered(name), name)
        change.write("ZADD", keys.tally, int(counted_as(raw)), name)
    return isinstance(await store.apply(change), Applied)


def _numbers(found: Sequence[bytes]) -> list[int]:
    return [n for name in found if (n := decode.number(name)) is not None]
