"""What a call is before it is sent.

There is one function per call, in one module per service: its arguments in, a `Call` out, for the sync and the async
client alike. Unset arguments stand for the server's defaults, which the protos state. Calls that change something
carry a fresh `request_id` unless one is given, so that a retry does nothing twice.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from google.protobuf.message import Message

READ_S: Final = 5.0
WRITE_S: Final = 60.0
"""Default deadlines of reads and of writes, in seconds: those that the server has for callers who set none."""

R = TypeVar("R", bound=Message)


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """A call that is ready to go.

    Its method with its service, such as "RecallService/Recall", the request, the class of its answer, and its deadline
    in seconds.
    """

    method: str
    request: Any
    response: type[R]
    timeout: float

    @property
    def path(self) -> str:
        """What gRPC names the method by."""
        return f"/remembrancer.v1.{self.method}"


def fresh_id(given: str | None) -> str:
    """Return the given request_id, a new one for None."""
    return str(uuid.uuid4()) if given is None else given


def serialize(request: Any) -> bytes:
    """Return a request's bytes."""
    return bytes(request.SerializeToString())
