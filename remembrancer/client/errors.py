"""What a failed call raises.

ClientError
├── InvalidArgument          `violations` name the fields
├── NotFound
├── PreconditionFailed
│   └── FeedbackIncompleteError   `feedback_incomplete` lists what is not covered
├── Unauthenticated
├── PermissionDenied
├── ResourceExhausted        `retry_after`
├── Aborted
├── DeadlineExceeded
├── Cancelled
├── Unavailable              `retry_after`
│   └── NotConnected         nothing answers at the address; also a TimeoutError
├── FeedbackRejectedError    `response` says what COMPLETE feedback still lacks; what it accepted is kept
└── InternalError            any other status
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from remembrancer.v1 import errors_pb2, session_pb2

DOMAIN = "remembrancer"
SHOWN = 5
"""How many ids, and how many things to mend, the text of an error tells."""
_UNREACHED = re.compile("failed to connect|connections to all backends failing|errors resolving", re.IGNORECASE)
"""How gRPC words that it reached nobody; a status of the service has other words."""
_DETAILS_KEY = "grpc-status-details-bin"
_M = TypeVar("_M", bound=Message)


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One field that is wrong: its proto path, and what would be right."""

    field: str
    description: str


@dataclass(frozen=True, slots=True)
class Details:
    """What a status says about itself.

    `reason` is a name of `ErrorReason` without its prefix, "" when the service did not send the status itself;
    `retry_after` is in seconds, None when it makes no sense to wait.
    """

    code: grpc.StatusCode
    message: str
    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    violations: Sequence[FieldViolation] = ()
    retry_after: float | None = None
    feedback_incomplete: errors_pb2.FeedbackIncomplete | None = None


class ClientError(Exception):
    """A call that failed."""

    def __init__(self, details: Details) -> None:
        """Take what the status said."""
        super().__init__(f"{details.reason or details.code.name}: {details.message}")
        self.code = details.code
        self.message = details.message
        self.reason = details.reason
        self.metadata = details.metadata
        self.violations = details.violations
        self.retry_after = details.retry_after
        self.feedback_incomplete = details.feedback_incomplete


class InvalidArgument(ClientError):
    """A field of the request is wrong."""


class NotFound(ClientError):
    """Something that the request names does not exist for this caller."""


class PreconditionFailed(ClientError):
    """A session or a scope is not in a state that allows the call; `reason` says which and why."""


class FeedbackIncompleteError(PreconditionFailed):
    """A commit was refused: `feedback_incomplete` lists the retrievals that are not covered."""

    feedback_incomplete: errors_pb2.FeedbackIncomplete


class Unauthenticated(ClientError):
    """Credentials are missing, wrong or expired."""


class PermissionDenied(ClientError):
    """The scope or the role is not granted."""


class ResourceExhausted(ClientError):
    """Too much at once."""


class Aborted(ClientError):
    """Concurrent changes outlasted the server's retries."""


class DeadlineExceeded(ClientError):
    """The deadline passed."""


class Cancelled(ClientError):
    """The call was cancelled."""


class Unavailable(ClientError):
    """A part of the service cannot be reached."""


class NotConnected(Unavailable, TimeoutError):
    """Nothing answers at the address: the service is not up, or it is elsewhere."""


class FeedbackRejectedError(ClientError):
    """Feedback was declared COMPLETE, and a retrieval is not covered all the same.

    The call itself succeeded (`code` is OK, `reason` INCOMPLETE_COVERAGE): entries that were accepted count. `response`
    is its answer: per retrieval the `outstanding` targets and the `rejected` entries, each with what to mend.
    """

    def __init__(self, response: session_pb2.FeedbackResponse) -> None:
        """Take the answer; the text tells the first few things to mend."""
        super().__init__(Details(grpc.StatusCode.OK, _to_mend(response), "INCOMPLETE_COVERAGE"))
        self.response = response


class InternalError(ClientError):
    """The service failed in an unforeseen way, or sent a status that it should not send."""


_CLASSES: Mapping[grpc.StatusCode, type[ClientError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.FAILED_PRECONDITION: PreconditionFailed,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.ABORTED: Aborted,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
}


def not_connected(target: str) -> NotConnected:
    """Return the exception for an address at which nothing answers."""
    message = f"nothing answers at {target}; is the service up (remembrancer up)?"
    return NotConnected(Details(grpc.StatusCode.UNAVAILABLE, message))


def from_rpc_error(error: grpc.RpcError, target: str) -> ClientError:
    """Return the exception for a failed call of the sync or the async API to `target`."""
    details = _details(error)
    if details.code is grpc.StatusCode.UNAVAILABLE and _UNREACHED.search(details.message):
        return not_connected(target)
    if details.code is grpc.StatusCode.DEADLINE_EXCEEDED and not details.reason:
        details = replace(details, message=f"no answer from {target} in time; is the service up (remembrancer up)?")
    if details.feedback_incomplete is not None:
        return FeedbackIncompleteError(details)
    return _CLASSES.get(details.code, InternalError)(details)


def check_coverage(request: session_pb2.FeedbackRequest, response: session_pb2.FeedbackResponse) -> None:
    """Raise FeedbackRejectedError when a retrieval that was declared COMPLETE is not covered."""
    complete = session_pb2.COVERAGE_DECLARATION_COMPLETE
    declared = [item.coverage == complete for item in request.items] or [request.coverage == complete]
    for wanted, result in zip(declared, response.results, strict=False):
        if wanted and result.coverage != session_pb2.COVERAGE_COMPLETE:
            raise FeedbackRejectedError(response)


def _to_mend(response: session_pb2.FeedbackResponse) -> str:
    lines = [f"{entry.field}: {entry.hint}" for result in response.results for entry in result.rejected]
    lines += [f"{result.retrieval_id}: {result.error.message}" for result in response.results if result.error.code]
    for result in response.results:
        if result.outstanding:
            more = ", ..." if len(result.outstanding) > SHOWN else ""
            lines.append(f"not assessed: {', '.join(result.outstanding[:SHOWN])}{more}")
    return "; ".join(lines[:SHOWN])


def reason_of(status: status_pb2.Status) -> str:
    """Return the reason inside a status in an answer, such as `deep_tier_error`; "" when there is none."""
    return _read(grpc.StatusCode.UNKNOWN, status).reason


def _details(error: Any) -> Details:
    code = error.code()
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY:
            try:
                return _read(code, status_pb2.Status.FromString(value))
            except DecodeError:
                break
    return Details(code, error.details() or "")


def _read(code: grpc.StatusCode, status: status_pb2.Status) -> Details:
    info = _unpack(status, error_details_pb2.ErrorInfo())
    fields = _unpack(status, error_details_pb2.BadRequest())
    retry = _unpack(status, error_details_pb2.RetryInfo())
    ours = info is not None and info.domain == DOMAIN
    return Details(
        code=code,
        message=status.message,
        reason=info.reason if info is not None and ours else "",
        metadata=dict(info.metadata) if info is not None and ours else {},
        violations=tuple(FieldViolation(v.field, v.description) for v in fields.field_violations) if fields else (),
        retry_after=retry.retry_delay.ToTimedelta().total_seconds() if retry is not None else None,
        feedback_incomplete=_unpack(status, errors_pb2.FeedbackIncomplete()),
    )


def _unpack(status: status_pb2.Status, into: _M) -> _M | None:
    for detail in status.details:
        if detail.Is(into.DESCRIPTOR):
            try:
                detail.Unpack(into)
            except DecodeError:
                return None
            return into
    return None
