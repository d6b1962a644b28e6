"""Statements, questions they answer and questions nothing here is about: what the relevance scale is measured on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

FILE = Path(__file__).parent / "data" / "relevance.json"

_PEOPLE = ("Ada", "Bruno", "Carla", "Dmitri", "Elif", "Farid", "Gerda", "Hugo", "Irena", "Joris", "Kaya", "Leo")
_THINGS = (
    "the ledger", "a violin", "the north window", "the pump", "an old map", "the camera", "the soup recipe",
    "a spare tyre", "the login page", "the budget", "the greenhouse", "a wooden boat", "the test suite", "the carpet",
    "the search index", "a bottle of ink", "the tax form", "the coffee machine", "the antenna", "a birthday cake",
    "the rescue dog", "the payroll export", "the hiking boots", "the water meter",
)  # fmt: skip
_FRAMES = (
    "{who} checked {what} {when} and found nothing wrong.",
    "{what} was repaired by {who} {when}.",
    "{who} asked for {what} {when}, but it was not there.",
    "Please remind {who} to bring {what} {when}.",
    "{who} thinks that {what} costs too much.",
    "{what} belongs to {who} since {when}.",
    "{who} wrote a long note about {what} {when}.",
    "According to {who}, {what} must be replaced {when}.",
    "{who} lost {what} on the way to the station {when}.",
    "{who} and a neighbour carried {what} upstairs {when}.",
    "{who} would rather sell {what} than move it again.",
)
_TIMES = (
    "on Monday",
    "before lunch",
    "in the spring",
    "at the harbour",
    "after the meeting",
    "in the old office",
    "late",
)


@dataclass(frozen=True, slots=True)
class Statements:
    """`pairs` of a statement and a question it answers, `timed` ones that say when; `off_topic` questions."""

    pairs: list[tuple[str, str]]
    timed: list[tuple[str, str]]
    off_topic: list[str]


def load() -> Statements:
    """Return the statements and questions."""
    data = json.loads(FILE.read_text())
    pairs, timed = ([(statement, question) for statement, question in data[name]] for name in ("pairs", "timed"))
    return Statements(pairs, timed, data["off_topic"])


def filler(count: int) -> list[str]:
    """Return up to 22176 everyday statements, all different, neighbours about different things."""
    combinations = list(product(_PEOPLE, _THINGS, _FRAMES, _TIMES))
    # A step without a common divisor with the number of combinations visits each once.
    step = 7919
    return list(islice(_written(combinations, step), count))


def _written(combinations: list[tuple[str, str, str, str]], step: int) -> Iterator[str]:
    for i in range(len(combinations)):
        who, what, frame, when = combinations[i * step % len(combinations)]
        text = frame.format(who=who, what=what, when=when)
        yield text[0].upper() + text[1:]
