"""Merges memories with the conversation that the caller holds: gate, exclusion, echo, order, budget."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from remembrancer.model.clock import moment, parse_time
from remembrancer.model.fusion import RELEVANCE_FLOOR
from remembrancer.model.text import is_blank, trimmed
from remembrancer.v1 import recall_pb2

ECHOED: Final = ("user", "assistant")
UNSET_ROLE: Final = "(unset)"
PREFIX_LENGTH: Final = 32
"""Code points from which an entry excludes by beginnings, too: shorter ones begin too many texts."""

FULL_BUDGET: Final = 200_000
"""Code points of whole texts in one answer."""

GATE: Final = RELEVANCE_FLOOR
"""The quality gate on the relevance scale, version 1: the relevance floor, with what was measured for it."""

RELAXED: Final = 0.5
"""What `relax_gate` leaves of the gate."""

T = TypeVar("T")


def threshold(min_score: float | None, *, relax: bool) -> float:
    """Return the relevance below which memories are dropped."""
    return max(GATE * (RELAXED if relax else 1.0), min_score or 0.0)


def gated(
    candidates: Sequence[T], relevance: Callable[[T], float], lexical: Callable[[T], float], least: float,
    min_score: float | None,
) -> tuple[list[T], bool]:  # fmt: skip
    """Return the candidates from `least` on, and False.

    When none is, but some share words with the query and reach `min_score`: those, and True.
    """
    passed = [c for c in candidates if relevance(c) >= least]
    if passed:
        return passed, False
    worded = [c for c in candidates if lexical(c) > 0 and relevance(c) >= (min_score or 0.0)]
    return worded, bool(worded)


class Exclusion:
    """Says which texts the held conversation has already. Whatever its role, an entry with a nonblank text counts."""

    def __init__(self, entries: Iterable[recall_pb2.ContextEntry]) -> None:
        """Take the conversation."""
        held = {_plain(entry.content) for entry in entries if not is_blank(entry.content)}
        self._equal = held
        self._long = sorted(text for text in held if len(text) >= PREFIX_LENGTH)
        # Of those that begin alike the shortest: the last one that sorts before a text is all that it can begin with.
        self._beginnings: list[str] = []
        for text in self._long:
            if not self._beginnings or not text.startswith(self._beginnings[-1]):
                self._beginnings.append(text)

    def excludes(self, text: str) -> bool:
        """Return whether a memory with this text is left out."""
        plain = _plain(text)
        return plain in self._equal or self._begins(plain) or self._continues(plain)

    def _begins(self, plain: str) -> bool:
        """Return whether a long entry begins with this text."""
        i = bisect_left(self._long, plain)
        return i < len(self._long) and self._long[i].startswith(plain)

    def _continues(self, plain: str) -> bool:
        """Return whether this text begins with a long entry."""
        i = bisect_right(self._beginnings, plain)
        return i > 0 and plain.startswith(self._beginnings[i - 1])


def echoes(entries: Iterable[recall_pb2.ContextEntry]) -> list[recall_pb2.ContextMessage]:
    """Return the messages that give the conversation back, in its order; equal ones as often as they came."""
    return [_echo(entry) for entry in entries if entry.role in ECHOED and not is_blank(entry.content)]


def filter_only_roles(entries: Iterable[recall_pb2.ContextEntry]) -> list[str]:
    """Return the roles of nonblank entries that are not echoed, sorted, each once."""
    return sorted({e.role or UNSET_ROLE for e in entries if e.role not in ECHOED and not is_blank(e.content)})


def in_order(messages: Iterable[recall_pb2.ContextMessage]) -> list[recall_pb2.ContextMessage]:
    """Return messages, given memories first, by instant: those without one first, equal ones as they came."""
    return sorted(messages, key=lambda m: (m.HasField("timestamp"), moment(m.timestamp)))


def whole_texts(lengths: Sequence[int], budget: int = FULL_BUDGET) -> tuple[int, bool]:
    """Return how many of the texts, best first, come whole, and whether the budget ran out.

    The best always does; the first that does not fit ends it for all weaker ones.
    """
    spent = 0
    for i, length in enumerate(lengths):
        spent += length
        if i and spent > budget:
            return i, True
    return len(lengths), False


def _echo(entry: recall_pb2.ContextEntry) -> recall_pb2.ContextMessage:
    user = entry.role == "user"
    return recall_pb2.ContextMessage(
        origin=recall_pb2.MESSAGE_ORIGIN_CONVERSATION,
        role=entry.role,
        source=recall_pb2.MessageSource(
            kind="User" if user else "Agent", id=(entry.user_id or entry.name or "User") if user else "self"
        ),
        content=entry.content,
        content_length=len(entry.content),
        timestamp_text=entry.timestamp,
        timestamp=parse_time(entry.timestamp),
    )


def _plain(text: str) -> str:
    return trimmed(text).lower()
