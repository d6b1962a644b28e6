"""Agreement with the store on the one model whose vectors serve."""

from __future__ import annotations

from typing import Any

from remembrancer.runtime.refusal import WRONG_MODEL, StartRefused
from remembrancer.store.keys import CURRENT_MODEL
from remembrancer.store.waiting import until_reachable


async def claim(redis: Any, model_id: str) -> None:
    """Return once the store's current model is `model_id`, which a new store takes over.

    An unreachable store is waited for. StartRefused, with code 3, when it has another model.
    """

    async def taken_over() -> bytes | None:
        await redis.set(CURRENT_MODEL, model_id, nx=True)
        stored: bytes | None = await redis.get(CURRENT_MODEL)
        return stored

    stored = await until_reachable(taken_over)
    found = "none" if stored is None else stored.decode("utf-8", "replace")
    if found != model_id:
        raise StartRefused(f"the store serves vectors of {found}, this encoder makes those of {model_id}", WRONG_MODEL)
