"""What a line of a file to ingest says: a statement or a conversation turn, as JSON or as plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from remembrancer.client import memory, turn
from remembrancer.model.clock import parse_time
from remembrancer.v1 import memory_pb2

STATEMENT: Final = ("content", "type", "occurred_at")
TURN: Final = ("content", "role", "name", "timestamp", "msg_id")
"""The keys of a JSON line."""

_LIKE_JSON: Final = re.compile(r'\s*(\{|\[\s*["{])')

T = TypeVar("T", memory_pb2.MemoryInput, memory_pb2.TurnInput)


class BadLine(ValueError):
    """A line that cannot be stored; the text names its number."""

    def __init__(self, number: int, what: str) -> None:
        """Take the line's number, counted from 1, and what is wrong with it."""
        super().__init__(f"line {number}: {what}")


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """What is to be stored of one line, and the line's number, counted from 1."""

    line: int
    message: T


def statements(lines: Iterable[str], type_: str, *, as_text: bool) -> Iterator[Item[memory_pb2.MemoryInput]]:
    """Yield the statements; `type_` is that of lines that name none. Raise BadLine."""
    for number, fields in _fields(lines, STATEMENT, as_text=as_text):
        when = fields.get("occurred_at")
        moment = parse_time(when) if when is not None else None
        if when is not None and moment is None:
            raise BadLine(number, f"occurred_at {when!r} is not understood; it is a time in RFC 3339 or ISO 8601")
        try:
            made = memory(fields.get("type", type_), fields["content"], occurred_at=moment)
        except ValueError as error:
            raise BadLine(number, str(error)) from error
        yield Item(number, made)


def turns(lines: Iterable[str], *, as_text: bool) -> Iterator[Item[memory_pb2.TurnInput]]:
    """Yield the turns. Raise BadLine."""
    for number, fields in _fields(lines, TURN, as_text=as_text):
        try:
            made = turn(**fields)
        except ValueError as error:
            raise BadLine(number, str(error)) from error
        yield Item(number, made)


def _fields(lines: Iterable[str], known: tuple[str, ...], *, as_text: bool) -> Iterator[tuple[int, dict[str, str]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if as_text or not _LIKE_JSON.match(line):
            yield number, {"content": line}
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise BadLine(number, f"begins like JSON and is none ({error}); --text stores all lines as text") from error
        yield number, _checked(number, value, known)


def _checked(number: int, value: Any, known: tuple[str, ...]) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadLine(number, "is a JSON list and no object; --text stores all lines as text")
    if strange := [key for key in value if key not in known]:
        hint = "; for conversation turns use --turns" if known is STATEMENT and set(value) <= set(TURN) else ""
        raise BadLine(number, f"the key {strange[0]!r} is unknown; keys are {', '.join(known)}{hint}")
    if "content" not in value:
        raise BadLine(number, "the key 'content' is missing; it holds the text")
    for key, given in value.items():
        if not isinstance(given, str):
            raise BadLine(number, f"the value of {key!r} must be text")
    return value
