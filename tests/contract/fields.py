"""Places in requests, from their descriptors, and what can be put there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

Place: TypeAlias = Sequence[FieldDescriptor]

DEPTH = 4
STRING, ENUM, BOOL = FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_ENUM, FieldDescriptor.TYPE_BOOL
BYTES = FieldDescriptor.TYPE_BYTES
COUNTS = {FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32}
POSITIONS = {FieldDescriptor.TYPE_INT64}
FLOATS = {FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT}
OPAQUE = {"google.protobuf.Struct", "google.protobuf.Timestamp", "google.protobuf.Duration"}


def places(message: Any, before: Place = ()) -> Iterator[Place]:
    """Yield every field of a message's descriptor and of those inside it, each as the fields on the way to it."""
    for field in message.fields:
        here = (*before, field)
        yield here
        inner = field.message_type
        if inner is not None and inner.full_name not in OPAQUE and len(here) < DEPTH:
            yield from places(inner, here)


def named(place: Place) -> str:
    """Return the proto field path of a place, such as `procedure.steps[0].summary`."""
    return ".".join(f"{field.name}[0]" if field.is_repeated else field.name for field in place)


def changed(message: Message, place: Place, value: Any) -> Any:
    """Return a copy of a request with `value` at a place; messages on the way are made."""
    copy = type(message)()
    copy.CopyFrom(message)
    parent: Any = copy
    for field in place[:-1]:
        child = getattr(parent, field.name)
        parent = (child[0] if child else child.add()) if field.is_repeated else child
        parent.SetInParent()
    last = place[-1]
    if isinstance(value, Message):
        getattr(parent, last.name).CopyFrom(value)
    elif last.is_repeated:
        del getattr(parent, last.name)[:]
        getattr(parent, last.name).append(value)
    else:
        setattr(parent, last.name, value)
    return copy
