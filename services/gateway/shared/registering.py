"""What whoever writes records does beforehand: the scope is registered, the sets of vectors are looked up."""

from __future__ import annotations

from remembrancer.store.keys import PartitionKeys
from remembrancer.store.vector_sets import VectorSets, read_sets
from services.gateway.shared.parts import Parts


async def register(parts: Parts, partition: str, scope: str, *, model_id: str = "", dimension: int = 0) -> None:
    """Put a scope into the registry before its first record, or one without a vector, is written.

    `model_id` and `dimension` are those of the vector that is to be written, "" and 0 without one. A store that lost
    its data learns them anew by this, or nothing could be found by meaning. Errors: StoreUnavailable.
    """
    if model_id and not await parts.models.current():
        await parts.models.claim(model_id, dimension)
    await parts.scopes.register(partition, scope)
    if not model_id:
        await parts.scopes.note_unembedded(partition)


async def sets_for(parts: Parts, keys: PartitionKeys, model_id: str) -> VectorSets:
    """Return the partition's sets for a change with vectors of one model, "" = not for all of its records.

    When these do not serve, it is noted that the partition may hold records without a vector. Errors: StoreUnavailable.
    """
    sets = await read_sets(parts.store, parts.models, keys)
    if not model_id or model_id != sets.current:
        await parts.scopes.note_unembedded(keys.partition)
    return sets
