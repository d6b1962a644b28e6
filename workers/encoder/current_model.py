"""Agreement with the store on the one model whose vectors serve, or the one that is to serve next."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Final

from redis.exceptions import RedisError

from remembrancer.model.errors import StoreUnavailable
from remembrancer.runtime.refusal import BAD_SETTING, WRONG_MODEL, StartRefused
from remembrancer.store.models import ModelRegistry
from remembrancer.store.waiting import until_reachable

LOOK_SECONDS: Final = 0.5
"""Between two looks at the store's current model: about how long an encoder of the former one is of no use."""


async def chosen(models: ModelRegistry, model: str, models_file: Path | None) -> str:
    """Return what the file has for the store's current model, else `model`.

    A store that a file is to be compared with is waited for. StartRefused when the file makes no sense.
    """
    known = _known(models_file)
    if not known:
        return model
    return known.get(await until_reachable(models.current), model)


def _known(models_file: Path | None) -> dict[str, str]:
    if models_file is None or not models_file.is_file():
        return {}
    try:
        return {str(key): str(value) for key, value in json.loads(models_file.read_text()).items()}
    except (OSError, ValueError, AttributeError):
        raise StartRefused(f"{models_file} is no JSON object from model ids to models", BAD_SETTING) from None


async def keep(models: ModelRegistry, model_id: str, dimension: int, *, serves: bool) -> None:
    """Watch the store's current model for ever; StartRefused, with code 3, once `model_id` was it and no longer is.

    `serves`: whether it is the current one by now. A store that lost its data takes the model over again.
    """
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            current = await models.current()
        except (StoreUnavailable, RedisError):
            continue
        serves = serves or current == model_id
        if serves and current != model_id:
            await claim(models, model_id, dimension)


async def claim(models: ModelRegistry, model_id: str, dimension: int) -> None:
    """Return once the store's current model is `model_id`, which a new store takes over with its vectors' length.

    An unreachable store is waited for. StartRefused, with code 3, when it has another model; nothing is written then.
    """
    found = await until_reachable(partial(models.claim, model_id, dimension))
    if found != model_id:
        raise StartRefused(
            f"the store serves vectors of {found or 'none'}, this encoder makes those of {model_id}", WRONG_MODEL
        )
