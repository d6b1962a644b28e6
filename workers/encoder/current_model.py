"""Agreement with the store on the one model whose vectors serve."""

from __future__ import annotations

from typing import Any

from remembrancer.runtime.refusal import WRONG_MODEL, StartRefused
from remembrancer.store.keys import CURRENT_MODEL, MODELS
from remembrancer.store.waiting import until_reachable


async def claim(redis: Any, model_id: str, dimension: int) -> None:
    """Return once the store's current model is `model_id`, which a new store takes over with its vectors' length.

    An unreachable store is waited for. StartRefused, with code 3, when it has another model; nothing is written then.
    """

    async def taken_over() -> str:
        stored = await redis.get(CURRENT_MODEL)
        if stored in (None, model_id.encode()):
            await redis.hset(MODELS, model_id, str(dimension))
            await redis.set(CURRENT_MODEL, model_id, nx=True)
            stored = await redis.get(CURRENT_MODEL)
        return "none" if stored is None else str(stored, "utf-8", "replace")

    found = await until_reachable(taken_over)
    if found != model_id:
        raise StartRefused(f"the store serves vectors of {found}, this encoder makes those of {model_id}", WRONG_MODEL)
