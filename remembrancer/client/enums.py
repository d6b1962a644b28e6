"""Enum values by name: what may be typed for them, and how they read in answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.message import Message

EnumLike = int | str
"""A value's name in any case, short or in full: "deep", "RECALL_MODE_DEEP"; or its number."""

_REMAINING = ("NOT_USED", "IRRELEVANT", "ALREADY_KNOWN")
_TAKEN: Mapping[str, tuple[str, ...]] = {
    "remembrancer.v1.CommitRequest.outcome": ("SUCCESS", "PARTIAL", "FAILURE"),
    "remembrancer.v1.FeedbackRequest.remaining": _REMAINING,
    "remembrancer.v1.FeedbackItem.remaining": _REMAINING,
}
"""Fields that take fewer values than their enum has."""


def name_of(message: Message, field: str) -> str:
    """Return an enum field of an answer in a word: `name_of(done, "state")` is "committed".

    "" when it is unset, the number as text when this client does not know it. Errors: ValueError when the message has
    no such field; a repeated one is for `names_of`.
    """
    return _word(_enum(message, field, repeated=False), getattr(message, field))


def names_of(message: Message, field: str) -> list[str]:
    """Return a repeated enum field of an answer in words: `names_of(hit, "found_by")` is `["active", "deep"]`."""
    enum = _enum(message, field, repeated=True)
    return [_word(enum, number) for number in getattr(message, field)]


def number_of(enum: EnumDescriptor, value: Any, where: str = "", field: str = "") -> int:
    """Return the number of an enum value.

    `where` names the parameter in errors; `field` is the full name of the proto field. Numbers are left to the server.
    Errors: ValueError for a name that the parameter does not take, TypeError for anything else.
    """
    if isinstance(value, int):
        return value
    taken = _TAKEN.get(field) or [_short(enum, v.name) for v in enum.values if v.number]
    words = ", ".join(name.lower() for name in taken)
    at = f"{where}: " if where else ""
    if not isinstance(value, str):
        raise TypeError(f"{at}takes one of: {words}; not a {type(value).__name__}")
    name = _short(enum, value.upper())
    if name not in taken and name != "UNSPECIFIED":
        raise ValueError(f"{at}{value!r} is not one of: {words}")
    return int(enum.values_by_name[_prefix(enum) + name].number)


def _enum(message: Message, field: str, *, repeated: bool) -> EnumDescriptor:
    found: Any = message.DESCRIPTOR.fields_by_name.get(field)
    if found is None or found.enum_type is None or found.is_repeated != repeated:
        what = "repeated enum" if repeated else "enum"
        raise ValueError(f"{message.DESCRIPTOR.name} has no {what} field {field!r}")
    enum: EnumDescriptor = found.enum_type
    return enum


def _word(enum: EnumDescriptor, number: int) -> str:
    value = enum.values_by_number.get(number)
    if value is None:
        return str(number)
    return _short(enum, value.name).lower() if number else ""


def _short(enum: EnumDescriptor, name: str) -> str:
    return name.removeprefix(_prefix(enum))


def _prefix(enum: EnumDescriptor) -> str:
    return str(enum.values_by_number[0].name).removesuffix("UNSPECIFIED")
