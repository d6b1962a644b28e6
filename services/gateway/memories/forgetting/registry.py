"""Takes the name of a forgotten scope out of the registries, unless something is written to it meanwhile."""

from __future__ import annotations

from remembrancer.model.ids import new_token
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from remembrancer.store.registration import UNLISTED
from services.gateway.shared.parts import Parts


async def strike_out(parts: Parts, keys: PartitionKeys, scope: str) -> None:
    """Strike a scope out of the registries; it can be repeated. Errors: StoreUnavailable, WriteNotDurable.

    Whoever writes records reads the note in `meta`, registers the scope if there is one, and requires it as it was read
    (`remembrancer/store/registration.py`). The note is changed after the registries: a writer that registered before
    they were changed either came before that, and is found here, or fails and registers anew.
    """
    scope = scope or (await parts.scopes.name_of(keys.partition) or "")
    note = new_token()
    before = Change(keys)
    before.require_count("records", keys.records, "HLEN", 0)
    before.write("HSET", keys.meta, UNLISTED, note)
    if isinstance(await parts.store.apply(before), Applied):
        await parts.scopes.strike_out(keys.partition, scope)
        after = Change(keys)
        after.require_same("registration", keys.meta, UNLISTED, note.encode())
        after.require_count("records", keys.records, "HLEN", 0)
        after.write("HSET", keys.meta, UNLISTED, new_token())
        if isinstance(await parts.store.apply(after), Applied):
            return
    if scope:
        await parts.scopes.register(keys.partition, scope)
