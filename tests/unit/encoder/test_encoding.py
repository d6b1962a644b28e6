"""The encoding of a call's texts, with a model that fails at one of them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from remembrancer.internal.v1 import encoder_pb2
from remembrancer.model.errors import InternalError
from workers.encoder.encoding import Encoding
from workers.encoder.lanes import Lane, Lanes

BAD = "bad"


class Panic(BaseException):
    """As a library in Rust raises it."""


class Failing:
    """A model that makes windows of words, and fails at one text."""

    def __init__(self, error: BaseException, *, at_windows: bool) -> None:
        self._error, self._at_windows = error, at_windows

    def windows(self, text: str, *, query: bool) -> list[str]:
        if text == BAD and self._at_windows:
            raise self._error
        return [text]

    def embed(self, window: str) -> Any:
        if window == BAD:
            raise self._error
        return np.ones(2, dtype="<f2")


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    running = Lanes(2)
    yield running
    running.close()


@pytest.mark.parametrize("error", [InternalError("no vector"), RuntimeError("bare"), Panic("rust")])
@pytest.mark.parametrize("at_windows", [True, False])
async def test_t8_t40_a_text_that_the_model_fails_at_costs_no_other_one(
    lanes: Lanes, error: BaseException, at_windows: bool
) -> None:
    model: Any = Failing(error, at_windows=at_windows)
    inputs = [encoder_pb2.EncodeInput(text=text, analyse=f"Marta said {text}") for text in ("one", BAD, "two", "three")]
    results = await Encoding(model, lanes).encode(Lane.WRITE, inputs)
    assert [result.failed for result in results] == [False, True, False, False]
    assert [len(result.vectors) for result in results] == [4, 0, 4, 4]
    assert all("marta" in result.analysis.terms for result in results)
