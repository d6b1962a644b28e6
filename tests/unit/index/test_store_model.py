"""Which model's vectors a worker reads, as the store says."""

from __future__ import annotations

import pytest

from remembrancer.store.keys import CURRENT_MODEL, MODELS
from workers.index.model import NO_MODEL, Model, StoreReaders


class FakeRedis:
    def __init__(self, current: bytes | None, models: dict[bytes, bytes]) -> None:
        self._values = {CURRENT_MODEL: current}
        self._hashes = {MODELS: models}

    async def execute_command(self, command: str, key: str, *fields: str) -> bytes | None:
        return self._values[key] if command == "GET" else self._hashes[key].get(fields[0].encode())


@pytest.mark.parametrize(
    ("current", "models", "expected"),
    [
        (b"m@1", {b"m@1": b"384", b"m@2": b"768"}, Model("m@1", 384)),
        (b"m@2", {b"m@1": b"384", b"m@2": b"768"}, Model("m@2", 768)),
        (None, {}, NO_MODEL),
        (None, {b"m@1": b"384"}, NO_MODEL),
        (b"m@1", {}, NO_MODEL),
    ],
)
async def test_the_current_model_and_the_length_of_its_vectors_are_the_stores(
    current: bytes | None, models: dict[bytes, bytes], expected: Model
) -> None:
    model, _ = await StoreReaders(FakeRedis(current, models)).open()
    assert model == expected
