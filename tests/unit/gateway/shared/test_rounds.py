"""What goes wrong with one thing of a round costs that thing its turn."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from redis.exceptions import ResponseError
from structlog.testing import capture_logs

from remembrancer.model.errors import Conflict, EncoderUnavailable, StoreUnavailable, WriteNotDurable
from services.gateway.shared.rounds import Round


@pytest.mark.parametrize("kind", [Conflict, EncoderUnavailable, StoreUnavailable, WriteNotDurable])
async def test_what_can_pass_is_tried_in_every_round(kind: type[Exception]) -> None:
    tried: list[str] = []

    async def work(thing: str) -> None:
        tried.append(thing)
        if thing == "b":
            raise kind("not now")

    around = Round("test", work)
    with capture_logs() as logs:
        for _ in range(2):
            await around.go("abc")
    assert tried == [*"abcabc"]
    assert {line["log_level"] for line in logs} == {"debug"}


@pytest.mark.parametrize("kind", [ResponseError, DecodeError, ValueError])
async def test_damage_is_reported_once_for_each_thing(kind: type[Exception]) -> None:
    async def work(thing: tuple[str, str]) -> None:
        raise kind(thing)

    around = Round("test", work)
    with capture_logs() as logs:
        for _ in range(2):
            await around.go([("p", "1"), ("p", "2")])
    assert [line["on"] for line in logs] == [("p", "1"), ("p", "2")]
    assert {line["log_level"] for line in logs} == {"error"}


async def test_a_mistake_of_ours_ends_the_round() -> None:
    async def work(thing: str) -> None:
        raise TypeError(thing)

    with pytest.raises(TypeError):
        await Round("test", work).go("a")
