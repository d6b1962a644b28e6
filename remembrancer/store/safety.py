"""Looks at a store at the start: whether it keeps what was acknowledged, and knows the commands that are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from redis.exceptions import ResponseError

from remembrancer.store.nodes import Node, nodes_of, on_node

WANTED: Final = {
    "appendonly": ("yes", "all memories are lost when the store restarts"),
    "appendfsync": ("always", "what was acknowledged last is lost when the store's machine fails"),
    "maxmemory-policy": ("noeviction", "the store may drop memories when it is full"),
}
"""Options of the store: the value that is safe, and what any other one costs."""

LEAST: Final = {"valkey_version": (8, 0), "redis_version": (7, 4)}
"""The oldest versions that know the commands; the first of these that a store tells counts."""


class StoreSafety:
    """Looks at every node of a store. All methods raise StoreUnavailable."""

    def __init__(self, redis: Any) -> None:
        """Take a client from `connect`."""
        self._redis = redis

    async def unsafe_options(self) -> list[str]:
        """Return one line with the remedy for each option that is not safe, none twice."""
        lines: list[str] = []
        for _, node in await nodes_of(self._redis):
            lines += _lines(await _options(self._redis, node))
        return list(dict.fromkeys(lines))

    async def too_old(self) -> str:
        """Return that the store's version is too old; "" when it is not, or is not told."""
        for _, node in await nodes_of(self._redis):
            told = await on_node(self._redis, node, "INFO", "server")
            name = next((name for name in LEAST if name in told), "")
            if name and _numbers(str(told[name])) < LEAST[name]:
                wanted, kind = ".".join(map(str, LEAST[name])), name.removesuffix("_version").capitalize()
                return f"the store is {kind} {told[name]}; {wanted} or later is needed"
        return ""


def _lines(options: Mapping[str, str]) -> list[str]:
    found = []
    for name, (safe, cost) in WANTED.items():
        value = options.get(name)
        if value is None:
            found.append(f"the store does not tell its {name}: see to it that it is {safe}, or else {cost}")
        elif value != safe:
            found.append(f"the store has {name} {value}, so that {cost}: set {name} {safe}")
        if name == "appendonly" and value == "no":
            return [*found, *_lines({**options, "appendonly": safe, "appendfsync": "always"})]
    return found


async def _options(redis: Any, node: Node) -> dict[str, str]:
    """Return the options that the store tells. Managed ones keep CONFIG to themselves; INFO tells some of them."""
    try:
        found = await on_node(redis, node, "CONFIG GET", *WANTED)
    except ResponseError:
        persistence = await on_node(redis, node, "INFO", "persistence")
        memory = await on_node(redis, node, "INFO", "memory")
        told = {"maxmemory-policy": str(memory.get("maxmemory_policy", ""))}
        if "aof_enabled" in persistence:
            told["appendonly"] = "yes" if int(persistence["aof_enabled"]) else "no"
        return {name: value for name, value in told.items() if value}
    return {_text(name): _text(value) for name, value in found.items()}


def _text(raw: bytes | str) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
