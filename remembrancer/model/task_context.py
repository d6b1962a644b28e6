"""Rules for task_context: a Struct of small, plain conditions."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from google.protobuf import json_format, struct_pb2

from remembrancer.model.errors import InvalidField

KEY: Final = re.compile(r"[a-z][a-z0-9_.:-]{0,63}")
DEPTH: Final = 8
LENGTH: Final = 16384

BYTES: Final = 16 * LENGTH
"""Of a Struct: no context that is short enough as JSON takes more, for no character takes more than 13 bytes."""


def check_context(context: struct_pb2.Struct, field: str = "task_context") -> dict[str, Any]:
    """Return the context as a plain dict with trimmed, lower-cased keys. Errors: InvalidField with the path."""
    if context.ByteSize() > BYTES:
        raise InvalidField(field, f"must have at most {LENGTH} characters as JSON")
    checked = _object(dict(context.fields), field, 1)
    check_length(checked, field)
    return checked


def merge(base: dict[str, Any], update: dict[str, Any], field: str = "task_context") -> dict[str, Any]:
    """Return `base` with the top-level keys of `update` put over it; nested objects are replaced whole."""
    merged = {**base, **update}
    check_length(merged, field)
    return merged


def check_length(context: dict[str, Any], field: str) -> None:
    """Check the length as JSON. Errors: InvalidField."""
    length = len(to_json(context))
    if length > LENGTH:
        raise InvalidField(field, f"must have at most {LENGTH} characters as JSON, has {length}")


def to_json(context: dict[str, Any]) -> str:
    """Return the one JSON form that is stored, measured and compared."""
    return json.dumps(context, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def to_struct(context: dict[str, Any]) -> struct_pb2.Struct:
    """Return the context as a Struct."""
    return json_format.ParseDict(context, struct_pb2.Struct())


def cue(context: dict[str, Any]) -> str:
    """Return the texts of a context in a fixed order, one a line: the extra cue of a search. "" without texts."""
    return "\n".join(texts_of(context))


def texts_of(value: Any) -> list[str]:
    """Return the texts of a context, or of a part of one, in a fixed order; blank ones and numbers are none."""
    match value:
        case dict():
            return [text for key in sorted(value) for text in texts_of(value[key])]
        case list():
            return [text for item in value for text in texts_of(item)]
        case str():
            return [value] if value.strip() else []
        case _:
            return []


def _object(fields: dict[str, struct_pb2.Value], path: str, depth: int) -> dict[str, Any]:
    if depth > DEPTH:
        raise InvalidField(path, f"must not be nested deeper than {DEPTH}")
    checked: dict[str, Any] = {}
    for raw, value in fields.items():
        key = raw.strip().lower()
        if not KEY.fullmatch(key):
            raise InvalidField(f"{path}.{raw[:64]}", "keys must match [a-z][a-z0-9_.:-]{0,63}")
        if key in checked:
            raise InvalidField(f"{path}.{key}", "stands twice, by keys that differ only in case or white space")
        checked[key] = _value(value, f"{path}.{key}", depth)
    return checked


def _value(value: struct_pb2.Value, path: str, depth: int) -> Any:
    match value.WhichOneof("kind"):
        case "struct_value":
            return _object(dict(value.struct_value.fields), path, depth + 1)
        case "list_value":
            if depth + 1 > DEPTH:
                raise InvalidField(path, f"must not be nested deeper than {DEPTH}")
            return [_value(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value.list_value.values)]
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "number_value":
            if not math.isfinite(value.number_value):
                raise InvalidField(path, "must be a finite number")
            return _plain(value.number_value)
        case _:
            raise InvalidField(path, "must not be null")


def _plain(number: float) -> float | int:
    """Return a whole number as the caller wrote it, without the fraction that a Struct's doubles add."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
