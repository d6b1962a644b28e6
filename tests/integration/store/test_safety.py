"""A store is looked at: what is not safe is said in one line with its remedy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from remembrancer.store import safety
from remembrancer.store.connection import connect
from remembrancer.store.safety import StoreSafety
from tests.valkey import Cluster

SAFE = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}


@pytest.fixture
async def changed(redis: Any) -> AsyncIterator[Any]:
    yield redis
    for name, value in SAFE.items():
        await redis.config_set(name, value)


async def lines(redis: Any, options: Mapping[str, str]) -> list[str]:
    for name, value in {**SAFE, **options}.items():
        await redis.config_set(name, value)
    return await StoreSafety(redis).unsafe_options()


@pytest.mark.parametrize(
    ("name", "value"), [("appendfsync", "everysec"), ("maxmemory-policy", "allkeys-lru"), ("appendonly", "no")]
)
async def test_t20_what_is_not_safe_is_said_with_its_remedy(changed: Any, name: str, value: str) -> None:
    (line,) = await lines(changed, {name: value})
    assert f"{name} {value}" in line
    assert f"set {name} {SAFE[name]}" in line
    assert "\n" not in line


async def test_t20_each_thing_is_said(changed: Any) -> None:
    assert len(await lines(changed, {"appendfsync": "no", "maxmemory-policy": "volatile-ttl"})) == 2


async def test_t20_a_safe_store_is_nothing_to_speak_of(redis: Any, cluster: Cluster) -> None:
    own = connect(cluster.url, cluster=True)
    try:
        for store in (redis, own):
            assert await StoreSafety(store).unsafe_options() == []
            assert await StoreSafety(store).too_old() == ""
        cluster.nodes[1].client().config_set("appendfsync", "everysec")
        (line,) = await StoreSafety(own).unsafe_options()
        assert "appendfsync everysec" in line
    finally:
        cluster.nodes[1].client().config_set("appendfsync", "always")
        await own.aclose()


async def test_t20_a_store_that_keeps_its_options_to_itself_is_asked_what_it_tells(redis: Any) -> None:
    await redis.execute_command("ACL", "SETUSER", "default", "-config")
    try:
        (line,) = await StoreSafety(redis).unsafe_options()
        assert "does not tell its appendfsync" in line
    finally:
        await redis.execute_command("ACL", "SETUSER", "default", "+@all")


async def test_t20_a_version_that_is_too_old_is_named(redis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(safety.LEAST, "valkey_version", (99, 0))
    assert "99.0 or later is needed" in await StoreSafety(redis).too_old()
