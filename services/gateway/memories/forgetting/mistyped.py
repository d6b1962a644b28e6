"""Keys of another type than what stands there: nobody can read them, and every command on them is refused.

They hold nothing that could be kept, and may hold any word: an erasure that meets one drops it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import PartitionStore

HASH: Final = b"hash"
LIST: Final = b"list"
SET: Final = b"set"
SORTED_SET: Final = b"zset"
STREAM: Final = b"stream"


async def drop_mistyped(store: PartitionStore, change: Change, types: Mapping[str, bytes]) -> bool:
    """Add to `change` what drops those of the keys that have another type than theirs; return whether any has."""
    found = (await store.read(*(("TYPE", key) for key in types))).answers
    mistyped = [key for (key, type_), is_ in zip(types.items(), found, strict=True) if is_ not in (type_, b"none")]
    for key in mistyped:
        change.write("UNLINK", key)
    return bool(mistyped)


async def drop_unless_hash(store: PartitionStore, keys: PartitionKeys, key: str) -> bool:
    """Drop a key that is no hash; return whether it was none."""
    change = Change(keys)
    if not await drop_mistyped(store, change, {key: HASH}):
        return False
    await store.apply(change)
    return True


def derived_types(keys: PartitionKeys, models: Collection[str]) -> dict[str, bytes]:
    """Return the type of every key that holds what is derived from a partition's records, by its name."""
    hashes = (keys.learned, keys.counts, keys.duplicates, keys.speakers, keys.episodes, *map(keys.vectors, models))
    sorted_sets = dict.fromkeys((keys.live, keys.tally), SORTED_SET)
    sets = dict.fromkeys((keys.unembedded, keys.behind, keys.aside), SET)
    return {**dict.fromkeys(hashes, HASH), **sets, **sorted_sets}


def session_types(keys: PartitionKeys, ledgers: Collection[str]) -> dict[str, bytes]:
    """Return the type of every key that tells what the sessions of these ledgers did, by its name."""
    types: dict[str, bytes] = {}
    for ledger in ledgers:
        types |= {keys.session(ledger): HASH, keys.written(ledger): LIST, keys.used_procedures(ledger): SET}
    return types
