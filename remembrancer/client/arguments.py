"""Turns what is handy in Python into proto messages, and says by name what does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypeVar

from google.protobuf import duration_pb2, message_factory, struct_pb2, timestamp_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from remembrancer.client.enums import number_of
from remembrancer.v1 import common_pb2

ScopeLike = str | common_pb2.Scope | Mapping[str, str]
"""A path such as "project:apollo", or what `tenant` returns, or a mapping with the names that it takes."""

Moment = datetime | timestamp_pb2.Timestamp
"""A naive datetime is read as UTC."""

AxesLike = Mapping[str, str] | common_pb2.Axes
StructLike = Mapping[str, Any] | struct_pb2.Struct

_M = TypeVar("_M", bound=Message)

Given: TypeAlias = _M | Mapping[str, Any]
"""A message, or a mapping with the names of its fields."""

_MAKERS: Mapping[str, str] = {
    "MemoryInput": "memory",
    "TurnInput": "turn",
    "MemoryFeedback": "memory_feedback",
    "ProcedureFeedback": "procedure_feedback",
    "FeedbackItem": "feedback_item",
    "ProcedureInput": "procedure",
    "TrajectoryEntry": "trajectory_entry",
    "Verification": "verification",
    "ContextEntry": "context_entry",
    "MemorySelection": "selection",
}
"""Messages that a function of this package makes."""

_BY_TEXT: Mapping[str, str] = {"ProcedureStep": "summary"}
"""Messages that may be given as the text of one field."""

_MOMENTS_AS_TEXT = ("remembrancer.v1.TurnInput.timestamp", "remembrancer.v1.ContextEntry.timestamp")
"""Text fields that hold a moment, which may be given as a datetime."""


def build(message: type[_M], **fields: Any) -> _M:
    """Return a message of the fields that are not None.

    Enum values may be names, messages mappings (at any depth), moments datetimes, durations timedeltas, and steps of a
    procedure the text of their summary. Errors name the field:
    TypeError for a value of another kind, such as text where a list is wanted; ValueError for an unknown field or enum
    name, for two fields of which only one may be set, and for text with a lone surrogate (half of a character beyond
    U+FFFF), which has no UTF-8 form.
    """
    return message(**_fields(message, fields, ""))


def to_scope(scope: ScopeLike) -> common_pb2.Scope:
    """Return the proto form of a scope."""
    if isinstance(scope, common_pb2.Scope):
        return scope
    if isinstance(scope, Mapping):
        return common_pb2.Scope(tenant=common_pb2.TenantScope(**_fields(common_pb2.TenantScope, scope, "scope.")))
    if not isinstance(scope, str):
        raise TypeError(f"scope: takes a path such as 'project:apollo' or what tenant(...) returns; not {_kind(scope)}")
    _check_text("scope", scope)
    return common_pb2.Scope(path=scope)


def to_timestamp(moment: Moment | None) -> timestamp_pb2.Timestamp | None:
    """Return the proto form of a moment."""
    if not isinstance(moment, datetime):
        return moment
    stamp = timestamp_pb2.Timestamp()
    stamp.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return stamp


def to_struct(value: StructLike | None, where: str = "task_context") -> struct_pb2.Struct | None:
    """Return the proto form of a JSON object."""
    if not isinstance(value, Mapping):
        return value
    _check_texts(where, value)
    struct = struct_pb2.Struct()
    struct.update(dict(value))
    return struct


def _fields(message: type[Message], fields: Mapping[str, Any], at: str) -> dict[str, Any]:
    known: Mapping[str, Any] = message.DESCRIPTOR.fields_by_name
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise ValueError(f"{at}{unknown[0]}: there is no such field; there are: {', '.join(known)}")
    given = {name: value for name, value in fields.items() if value is not None}
    for choice in message.DESCRIPTOR.oneofs:
        among = [field.name for field in choice.fields if field.name in given]
        if len(among) > 1:
            raise ValueError(f"{at}{' and '.join(among)}: only one of {', '.join(f.name for f in choice.fields)}")
    return {
        name: _values(known[name], value, f"{at}{name}")
        if known[name].is_repeated
        else _value(known[name], value, at + name)
        for name, value in given.items()
    }


def _values(field: FieldDescriptor, values: Any, where: str) -> list[Any]:
    if isinstance(values, str):
        raise TypeError(f"{where}: takes a list, such as [{values[:40]!r}]; not a string")
    if isinstance(values, Mapping | Message) or not isinstance(values, Iterable):
        raise TypeError(f"{where}: takes a list; not {_kind(values)}")
    return [_value(field, value, f"{where}[{number}]") for number, value in enumerate(values)]


def _value(field: FieldDescriptor, value: Any, where: str) -> Any:
    if field.enum_type is not None:
        return number_of(field.enum_type, value, where, field.full_name)
    if field.message_type is not None:
        return _message(message_factory.GetMessageClass(field.message_type), value, where)
    if isinstance(value, datetime) and field.full_name in _MOMENTS_AS_TEXT:
        return value.isoformat()
    if field.type == FieldDescriptor.TYPE_STRING:
        if not isinstance(value, str):
            raise TypeError(f"{where}: takes text; not {_kind(value)}")
        _check_text(where, value)
    return value


def _message(message: type[Message], value: Any, where: str) -> Message | None:
    if isinstance(value, message):
        return value
    if message is struct_pb2.Struct and isinstance(value, Mapping):
        return to_struct(value, where)
    if message is timestamp_pb2.Timestamp:
        if not isinstance(value, datetime):
            raise TypeError(f"{where}: takes a datetime; not {_kind(value)}")
        return to_timestamp(value)
    if message is duration_pb2.Duration:
        if not isinstance(value, timedelta):
            raise TypeError(f"{where}: takes a timedelta; not {_kind(value)}")
        duration = duration_pb2.Duration()
        duration.FromTimedelta(value)
        return duration
    name = message.DESCRIPTOR.name
    if isinstance(value, str) and name in _BY_TEXT:
        value = {_BY_TEXT[name]: value}
    if isinstance(value, Mapping):
        return message(**_fields(message, value, f"{where}."))
    maker = _MAKERS.get(name)
    wanted = f"what {maker}(...) returns, or a mapping" if maker else "a mapping"
    raise TypeError(f"{where}: takes {wanted}; not {_kind(value)}")


def _kind(value: Any) -> str:
    return "a string" if isinstance(value, str) else f"a {type(value).__name__}"


def _check_texts(where: str, value: Any) -> None:
    if isinstance(value, str):
        _check_text(where, value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _check_text(where, str(key))
            _check_texts(f"{where}.{key}", inner)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            _check_texts(f"{where}[{number}]", inner)


def _check_text(field: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{field}: the character at position {error.start} is a lone surrogate, half of a character; "
            "text must be whole Unicode characters"
        ) from None
