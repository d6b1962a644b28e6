"""The degraded advisory: in full once per outage for each caller and session_key, in short after that."""

from __future__ import annotations

from typing import Final

from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from services.gateway.shared.parts import Parts

KEPT_MS: Final = 24 * 3600 * 1000

FULL: Final = (
    "Memories are searched by words only: the encoder that understands meaning is down. Memories that say the same in "
    "other words are missed, and an empty result does not mean that nothing is known. Ask with the words that the "
    "memory would use, do not conclude that something was never said, and ask again later. What is written meanwhile "
    "is kept and found by meaning once the encoder is back; nothing has to be done for that."
)
SHORT: Final = "The encoder is still down: memories are searched by words only."


async def degraded_advisory(parts: Parts, keys: PartitionKeys, caller: str, session_key: str) -> str:
    """Return what to tell these calls about the outage, and remember that they were told. Errors: StoreUnavailable."""
    key, outage = keys.advised(caller, session_key), await parts.outage.name()
    told = await parts.store.read_one(("GET", key))
    if told is not None and told.decode() == outage:
        return SHORT
    change = Change(keys)
    change.write("SET", key, outage, "PX", KEPT_MS)
    await parts.store.apply(change)
    return FULL
