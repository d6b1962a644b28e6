"""Where copies of records may stand: indexes that an erasure follows, so that it need not look through anything else.

Each entry goes with what it points to, or soon after.
"""

from __future__ import annotations

from typing import Final

from remembrancer.store.change import Change, StoreTime
from remembrancer.store.keys import PartitionKeys

LONGEST_MS: Final = 25 * 3600 * 1000
"""How long an index without new entries is kept; remembered answers and stateless retrievals are kept for less."""

SLACK_MS: Final = 60_000
"""Entries go this much later than what they point to, whose life begins when the store writes it."""


def trace_session(change: Change, ledger: str, kept_ms: int) -> None:
    """Note that a session was active; it is kept for `kept_ms` from now on, or for less."""
    change.write("ZADD", change.keys.sessions, StoreTime(), ledger)
    change.write("PEXPIRE", change.keys.sessions, kept_ms)


def drop_old_sessions(change: Change, now_ms: int, kept_ms: int) -> None:
    """Take those out of the index of sessions that are not kept any more."""
    change.write("ZREMRANGEBYSCORE", change.keys.sessions, "-inf", now_ms - kept_ms - SLACK_MS)


def trace_stateless(change: Change, ledger: str, now_ms: int, kept_ms: int) -> None:
    """Note a stateless retrieval, which is kept for `kept_ms`."""
    _note(change, change.keys.stateless, ledger, now_ms, kept_ms)


def trace_answer(change: Change, now_ms: int) -> None:
    """Note the answer to a recall that the change remembers, if it remembers one."""
    if change.replay is not None:
        _note(change, change.keys.answers, change.replay.key, now_ms, change.replay.ttl_ms)


def comment_entry(ledger: str, key: str) -> str:
    """Return how a retrieval stands in the index of feedback with words."""
    return f"{ledger}:{key}"


def commented_retrievals(keys: PartitionKeys, entries: set[bytes]) -> dict[str, list[str]]:
    """Return the retrievals of such entries: the key of their ledger, and their own keys in it."""
    found: dict[str, list[str]] = {}
    for entry in sorted(entries):
        ledger, _, key = entry.decode("ascii", "replace").partition(":")
        found.setdefault(keys.ledger(ledger), []).append(key)
    return found


def _note(change: Change, index: str, entry: str, now_ms: int, kept_ms: int) -> None:
    change.write("ZREMRANGEBYSCORE", index, "-inf", now_ms)
    change.write("ZADD", index, now_ms + kept_ms + SLACK_MS, entry)
    change.write("PEXPIRE", index, max(LONGEST_MS, kept_ms + SLACK_MS))
