"""Has every node of the store rewrite its append-only file after something was erased.

An erased text stands in the file of each node that held it until that node has rewritten its file. A request is a note
in the store. The note goes once every node has finished a rewrite that began after the note was read; one that was
made meanwhile has another token and stays.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from redis.exceptions import ResponseError

from remembrancer.model.errors import StoreUnavailable
from remembrancer.store.failures import store_failures
from remembrancer.store.keys import REWRITE, REWRITING
from remembrancer.store.nodes import nodes_of, on_node

LEAST_PAUSE: Final = 5.0
"""Seconds between the end of a rewrite and the next, at least."""

SHARE: Final = 10
"""The pause is so many times as long as the rewrite was: each writes the whole store anew."""

LONGEST_PAUSE: Final = 60.0
"""Seconds."""

AFTER_FAILURE: Final = 10.0
"""Seconds until a rewrite that failed is tried again."""

LEASE: Final = 30.0
"""Seconds after which another gateway takes over from one that does not look any more."""

_DROP: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


@dataclass(slots=True)
class _Work:
    """A request that is being carried out: its token, when it began, which nodes began, which are done with."""

    token: bytes
    began: float
    started: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)


class Rewriter:
    """Carries out requests, one look at a time. Of several gateways one does it; the others take over when it is gone.

    A node that has no append-only file, or keeps these commands to itself, is left alone.
    """

    def __init__(self, redis: Any) -> None:
        """Take a client from `connect`."""
        self._redis = redis
        self._name = secrets.token_hex(8)
        self._work: _Work | None = None
        self._not_before = 0.0
        self._log = structlog.get_logger()

    async def look(self) -> None:
        """Begin, watch or end the rewrite that is wanted, if one is. Errors: StoreUnavailable."""
        now = asyncio.get_running_loop().time()
        token = await self._do("GET", REWRITE)
        if token is None or now < self._not_before or not await self._mine():
            return
        if self._work is None:
            self._work = _Work(token, now)
        work, failed = self._work, False
        nodes = await nodes_of(self._redis)
        for name, node in nodes:
            if name not in work.done:
                failed |= not await self._step(work, name, node)
        if failed:
            self._work, self._not_before = None, now + AFTER_FAILURE
        elif all(name in work.done for name, _ in nodes):
            await self._do("EVAL", _DROP, "1", REWRITE, work.token)
            pause = min(LONGEST_PAUSE, max(LEAST_PAUSE, SHARE * (now - work.began)))
            self._work, self._not_before = None, now + pause

    async def _step(self, work: _Work, name: str, node: Any) -> bool:
        """Move one node on; return false when its rewrite failed."""
        try:
            state = await on_node(self._redis, node, "INFO", "persistence")
            if not int(state.get("aof_enabled", 0)):
                work.done.add(name)
            elif int(state["aof_rewrite_in_progress"]) or int(state["aof_rewrite_scheduled"]):
                pass  # One that runs already may have begun too early, and is waited for.
            elif name not in work.started:
                await on_node(self._redis, node, "BGREWRITEAOF")
                work.started.add(name)
            elif state["aof_last_bgrewrite_status"] == "ok":
                work.done.add(name)
            else:
                self._log.error("the append-only file could not be rewritten; it is tried again", node=name)
                return False
        except StoreUnavailable:
            pass  # It is asked again at the next look; the others go on.
        except ResponseError as error:
            said = str(error).lower()
            if "in progress" in said:
                return True
            if not said.startswith(("unknown command", "no permission", "this user has no permissions")):
                self._log.error("the append-only file could not be rewritten; it is tried again", node=name)
                return False
            self._log.warning("the store does not let its append-only file be rewritten; do it there", node=name)
            work.done.add(name)
        return True

    async def _mine(self) -> bool:
        """Return whether this gateway is the one that rewrites; it has to ask each time."""
        milliseconds = str(round(LEASE * 1000))
        if await self._do("SET", REWRITING, self._name, "NX", "PX", milliseconds):
            return True
        if await self._do("GET", REWRITING) != self._name.encode():
            self._work = None
            return False
        await self._do("PEXPIRE", REWRITING, milliseconds)
        return True

    async def _do(self, *command: str | bytes) -> Any:
        with store_failures():
            return await self._redis.execute_command(*command)
