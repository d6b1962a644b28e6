"""The sets of vectors of one partition: the one that serves, and while a reindexing runs the one that is being filled.

Which model serves is said for the whole store by one key; a change cannot look at it, since it touches one partition
only. So every partition notes in `meta` which model it was settled on and which one is being filled, and whoever
writes vectors requires both notes to be as they were read. A write that began before a reindexing reached the
partition, or before the new model served there, thus fails and is decided anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remembrancer.store.change import Allocated, Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.models import ModelRegistry
from remembrancer.store.partition import PartitionStore

SETTLED: Final = "model"
"""Field of `meta`: the model that the partition was settled on by a reindexing; absent before the first one."""

FILLING: Final = "next"
"""Field of `meta`: the model whose vectors are being filled in, from its beginning until the partition is settled."""


@dataclass(frozen=True, slots=True)
class VectorSets:
    """The sets of a partition as they were read; `settled` and `filling` are the notes, None = absent.

    `current` is the store's current model, read after the notes; "" while no encoder was ever up.
    """

    current: str
    settled: bytes | None
    filling: bytes | None

    def models(self) -> list[str]:
        """Return the models whose sets must fit the records."""
        next_ = self.filling.decode() if self.filling is not None else ""
        return [model for model in dict.fromkeys((self.current, next_)) if model]

    def require(self, change: Change) -> None:
        """Have the change fail when the sets are others meanwhile."""
        meta = change.keys.meta
        change.require_same("vector sets", meta, SETTLED, self.settled)
        change.require_same("vector sets", meta, FILLING, self.filling)

    def put(self, change: Change, n: int | Allocated, vectors: bytes | None, model_id: str) -> None:
        """Add the writes for a record's vectors; the change must `require` the sets.

        `vectors` is None when `model_id` did not make any yet, b"" when it can make none. In every other set what the
        record had goes, and the record waits for its vectors: in `unembedded` for those of the current model, in
        `behind` for those that are being filled in. One that was set aside is tried again with its new text.
        """
        keys = change.keys
        made = model_id if vectors is not None else ""
        for model in self.models():
            if vectors and model == made:
                change.write("HSET", keys.vectors(model), n, vectors)
            else:
                change.write("HDEL", keys.vectors(model), n)
        change.write("SREM" if made and made == self.current else "SADD", keys.unembedded, n)
        if not isinstance(n, Allocated):
            change.write("SREM", keys.aside, n)
        if self.filling is not None:
            change.write("SREM" if made.encode() == self.filling else "SADD", keys.behind, n)


async def read_sets(store: PartitionStore, models: ModelRegistry, keys: PartitionKeys) -> VectorSets:
    """Return which sets of vectors a partition has.

    To be read after the partition was registered, if it had to be: a reindexing that registered partitions do not tell
    of this one has not begun to look, so that the current model is read as it is then. Errors: StoreUnavailable.
    """
    notes = await store.read_one(("HMGET", keys.meta, SETTLED, FILLING))
    # In this order: a partition that is settled on a model tells that this model serves.
    return VectorSets(await models.current(), *notes)
