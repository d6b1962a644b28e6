"""The note by which one import holds a scope: which import it is, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import PartitionStore


@dataclass(frozen=True, slots=True)
class Claim:
    """How far an import is in a partition.

    `last` is the last number of its export, None as long as it has not claimed the partition. `holder` and `n` are the
    name of the import that the note names, and the partition's last number, as they were read; None = absent.
    """

    last: int | None
    upto: int = 0
    count: int = 0
    complete: bool = False
    holder: bytes | None = field(default=None, compare=False)
    n: bytes | None = field(default=None, compare=False)


async def read_claim(store: PartitionStore, keys: PartitionKeys, import_id: str) -> Claim | None:
    """Return how far an import is in a partition; None when the partition is not free for it.

    A partition is free until its feed announces something: without that, a last number only comes from another import,
    which stored no record. Errors: StoreUnavailable.
    """
    snapshot = await store.read(
        ("HMGET", keys.imported, "id", "last", "upto", "count", "complete"), ("HMGET", keys.meta, "n", "f")
    )
    (holder, last, upto, count, complete), (n, announced) = snapshot.answers
    if holder == import_id.encode() and last is not None:
        return Claim(int(last), int(upto), int(count), complete is not None)
    return Claim(None, holder=holder, n=n) if announced is None else None


def move_on(change: Change, import_id: str, before: Claim, after: Claim) -> None:
    """Have a change move an import on, claiming the partition first if it must; it fails when the note is another."""
    imported, meta = change.keys.imported, change.keys.meta
    if before.last is None:
        change.require_same("import", imported, "id", before.holder)
        change.require_same("last number", meta, "n", before.n)
        change.require_same("announced", meta, "f", None)
        change.write("HDEL", imported, "complete")
        # Records that others write while the import runs get numbers after those of the export.
        change.write("HSET", meta, "n", str(after.last))
    else:
        change.require_same("import", imported, "id", import_id.encode())
        change.require_same("import", imported, "upto", str(before.upto).encode())
    progress = {"id": import_id, "last": str(after.last), "upto": str(after.upto), "count": str(after.count)}
    change.write("HSET", imported, *(part for pair in progress.items() for part in pair))
    if after.complete:
        change.write("HSET", imported, "complete", "1")
