"""Turns what is handy in Python into proto messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from google.protobuf import struct_pb2, timestamp_pb2
from google.protobuf.message import Message

from remembrancer.v1 import common_pb2, memory_pb2, recall_pb2, session_pb2

ScopeLike = str | common_pb2.Scope
"""A path such as "project:apollo", or what `tenant` returns."""

Moment = datetime | timestamp_pb2.Timestamp
"""A naive datetime is read as UTC."""

AxesLike = Mapping[str, str] | common_pb2.Axes
StructLike = Mapping[str, Any] | struct_pb2.Struct
EnumLike = int | str
"""A number of the proto enum, or a value's name without its prefix, in any case: "deep"."""

_M = TypeVar("_M", bound=Message)


class EnumType(Protocol):
    """A proto enum: names with their numbers."""

    def Name(self, number: Any) -> str:  # noqa: N802
        """Return the name of a number."""

    def Value(self, name: str) -> Any:  # noqa: N802
        """Return the number of a name; ValueError when there is none."""

    def keys(self) -> Iterable[str]:
        """Return all names."""


def tenant(org_id: str, user_id: str = "", session_id: str = "") -> common_pb2.Scope:
    """Return the stateless form of a scope."""
    return build(
        common_pb2.Scope, tenant=build(common_pb2.TenantScope, org_id=org_id, user_id=user_id, session_id=session_id)
    )


def memory(
    type: EnumLike,  # noqa: A002
    content: str,
    *,
    occurred_at: Moment | None = None,
    axes: AxesLike | None = None,
    source: common_pb2.SourceInfo | None = None,
) -> memory_pb2.MemoryInput:
    """Return a statement for `remember`, such as `memory("fact", "the build runs on arm64")`."""
    return build(
        memory_pb2.MemoryInput,
        type=enum_number(common_pb2.MemoryType, type),
        content=content,
        occurred_at=to_timestamp(occurred_at),
        axes=to_axes(axes),
        source=source,
    )


def turn(
    content: str, *, name: str = "", role: str = "", timestamp: str | datetime = "", msg_id: str = ""
) -> memory_pb2.TurnInput:
    """Return a conversation turn for `record_turns`."""
    when = timestamp.isoformat() if isinstance(timestamp, datetime) else timestamp
    return build(memory_pb2.TurnInput, content=content, name=name, role=role, timestamp=when, msg_id=msg_id)


def memory_feedback(
    memory_id: str,
    assessment: EnumLike,
    *,
    effect: EnumLike = 0,
    stale_reason: EnumLike = 0,
    reason: str = "",
    replacement_memory_id: str = "",
) -> session_pb2.MemoryFeedback:
    """Return the assessment of one exposed memory, such as `memory_feedback(id, "used", effect="helped")`."""
    return build(
        session_pb2.MemoryFeedback,
        memory_id=memory_id,
        assessment=enum_number(session_pb2.MemoryAssessment, assessment),
        effect=enum_number(session_pb2.MemoryEffect, effect),
        stale_reason=enum_number(common_pb2.StaleReason, stale_reason),
        reason=reason,
        replacement_memory_id=replacement_memory_id,
    )


def procedure_feedback(
    procedure_id: str, assessment: EnumLike, *, effect: EnumLike = 0, contribution: str = "", reason: str = ""
) -> session_pb2.ProcedureFeedback:
    """Return the assessment of one exposed procedure."""
    return build(
        session_pb2.ProcedureFeedback,
        procedure_id=procedure_id,
        assessment=enum_number(session_pb2.ProcedureAssessment, assessment),
        effect=enum_number(recall_pb2.ProcedureEffect, effect),
        contribution=contribution,
        reason=reason,
    )


def build(message: type[_M], **fields: Any) -> _M:
    """Return a message of the fields that are not None.

    Raises ValueError for text with a lone surrogate (half of a character beyond U+FFFF): it has no UTF-8 form.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    for name, value in given.items():
        for text in (value,) if isinstance(value, str) else value if isinstance(value, list | tuple) else ():
            if isinstance(text, str):
                _check_text(name, text)
    return message(**given)


def to_scope(scope: ScopeLike) -> common_pb2.Scope:
    """Return the proto form of a scope."""
    return build(common_pb2.Scope, path=scope) if isinstance(scope, str) else scope


def to_axes(axes: AxesLike | None) -> common_pb2.Axes | None:
    """Return the proto form of axes; an unknown name is a ValueError."""
    return build(common_pb2.Axes, **axes) if isinstance(axes, Mapping) else axes


def to_timestamp(moment: Moment | None) -> timestamp_pb2.Timestamp | None:
    """Return the proto form of a moment."""
    if not isinstance(moment, datetime):
        return moment
    stamp = timestamp_pb2.Timestamp()
    stamp.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return stamp


def to_struct(value: StructLike | None) -> struct_pb2.Struct | None:
    """Return the proto form of a JSON object."""
    if not isinstance(value, Mapping):
        return value
    _check_texts("task_context", value)
    struct = struct_pb2.Struct()
    struct.update(dict(value))
    return struct


def enum_number(enum: EnumType, value: EnumLike) -> Any:
    """Return the number of an enum value; a name that there is not is a ValueError."""
    if isinstance(value, int):
        return value
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    try:
        return enum.Value(prefix + value.upper())
    except ValueError:
        names = ", ".join(name.removeprefix(prefix).lower() for name in enum.keys() if enum.Value(name))  # noqa: SIM118
        raise ValueError(f"{value!r} is not one of: {names}") from None


def enum_numbers(enum: EnumType, values: Iterable[EnumLike]) -> list[Any]:
    """Return the numbers of several enum values."""
    return [enum_number(enum, value) for value in values]


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
