"""The whole reindexing: every partition is filled, the new model serves, every partition is settled."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import grpc

from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc
from remembrancer.reindex.embedding import CALL_SECONDS, Embedding, ReindexRefused
from remembrancer.reindex.filling import Filling
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.models import ModelRegistry
from remembrancer.store.partition import PartitionStore
from remembrancer.store.scopes import ScopeRegistry

SHORT_PASS_SECONDS: Final = 1.0
"""What is written in so short a time may wait for its vectors until the new model serves."""


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What was done: the new and the former model, the vectors' length, records embedded, and seconds.

    `skipped` of the embedded ones have no vector, as the encoder failed at their texts or refused them.
    """

    model_id: str
    former_model_id: str
    dimension: int
    embedded: int
    seconds: float
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Steps:
    """What whoever runs it does beside it.

    `before_flip` and `after_flip` frame the moment from which the new model serves; `on_total` is told how many
    records there are, `on_records` how many more are done.
    """

    before_flip: Callable[[str], None]
    after_flip: Callable[[str], Awaitable[None]]
    on_total: Callable[[int], None]
    on_records: Callable[[int], None]


async def reindex(redis: Any, encoder: grpc.aio.Channel, steps: Steps) -> Reindexed:
    """Have the encoder's model serve; one that serves already is only settled on.

    It can be killed at any point and run again. Errors: ReindexRefused, StoreUnavailable, WriteNotDurable,
    grpc.aio.AioRpcError.
    """
    started = time.monotonic()
    store, scopes, models = PartitionStore(redis), ScopeRegistry(redis), ModelRegistry(redis)
    stub = encoder_pb2_grpc.EncoderServiceStub(encoder)
    model = await stub.GetModel(encoder_pb2.GetModelRequest(), timeout=CALL_SECONDS)
    former = await models.current()
    if not former:
        raise ReindexRefused("the store has no vectors of any model yet; have an encoder of the new one start with it")

    embedding = Embedding(stub, model)

    async def check() -> None:
        if (wanted := await models.next()) != model.model_id:
            raise ReindexRefused(
                f"another reindexing began, to {wanted}" if wanted else "another reindexing ended this"
            )

    filling = Filling(store, models, model.model_id, embedding.embed, check, steps.on_records)
    await models.begin(model.model_id, model.dimension)
    steps.on_total(await _count(store, scopes))
    if former != model.model_id:
        await _fill_all(scopes, filling)
        await check()
        steps.before_flip(model.model_id)
        await models.flip(model.model_id)
    await steps.after_flip(model.model_id)
    others = [other for other in await models.ids() if other != model.model_id]
    for partition in await scopes.all():
        await filling.settle(partition, others)
    await models.end(others)
    seconds = time.monotonic() - started
    return Reindexed(model.model_id, former, model.dimension, filling.embedded, seconds, embedding.skipped)


async def _fill_all(scopes: ScopeRegistry, filling: Filling) -> None:
    """Fill until nothing was missing, or as little as is written while one looks."""
    while True:
        started, found = time.monotonic(), 0
        for partition in await scopes.all():
            found += await filling.fill(partition)
        if not found or time.monotonic() - started < SHORT_PASS_SECONDS:
            return


async def _count(store: PartitionStore, scopes: ScopeRegistry) -> int:
    total = 0
    for partition in await scopes.all():
        total += (await store.read(("HLEN", PartitionKeys(partition).records))).answers[0]
    return total
