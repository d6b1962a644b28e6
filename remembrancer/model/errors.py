"""The one exception tree of the service.

RemembrancerError
├── InvalidField                INVALID_ARGUMENT     FIELD_INVALID
├── RequestIdReused             INVALID_ARGUMENT     REQUEST_ID_REUSED
├── MsgIdReused                 INVALID_ARGUMENT     MSG_ID_REUSED
├── NotFound
│   ├── SessionNotFound         NOT_FOUND            SESSION_NOT_FOUND
│   ├── RetrievalNotFound       NOT_FOUND            RETRIEVAL_NOT_FOUND
│   └── MemoryNotFound          NOT_FOUND            MEMORY_NOT_FOUND
├── PreconditionFailed
│   ├── SessionScopeMismatch    FAILED_PRECONDITION  SESSION_SCOPE_MISMATCH
│   ├── SessionFull             FAILED_PRECONDITION  SESSION_FULL
│   ├── SessionEnded            FAILED_PRECONDITION  SESSION_ENDED
│   ├── SessionExpired          FAILED_PRECONDITION  SESSION_EXPIRED
│   ├── ScopeNotEmpty           FAILED_PRECONDITION  SCOPE_NOT_EMPTY
│   └── FeedbackMissing         FAILED_PRECONDITION  FEEDBACK_INCOMPLETE
├── CredentialsMissing          UNAUTHENTICATED      CREDENTIALS_MISSING
├── CredentialsInvalid          UNAUTHENTICATED      CREDENTIALS_INVALID
├── Retryable
│   ├── Overloaded              RESOURCE_EXHAUSTED   OVERLOADED
│   └── Unavailable
│       ├── StoreUnavailable    UNAVAILABLE          STORE_UNAVAILABLE
│       ├── TiersUnavailable    UNAVAILABLE          TIERS_UNAVAILABLE
│       ├── WriteNotDurable     UNAVAILABLE          WRITE_NOT_DURABLE
│       ├── EncoderUnavailable  UNAVAILABLE          ENCODER_UNAVAILABLE
│       ├── TierUnreachable     UNAVAILABLE          TIER_UNREACHABLE
│       ├── TierLate            DEADLINE_EXCEEDED    TIER_LATE
│       ├── PartitionLoading    UNAVAILABLE          PARTITION_LOADING
│       └── PartitionTooLarge   RESOURCE_EXHAUSTED   PARTITION_TOO_LARGE
├── StoreDamaged                DATA_LOSS            STORE_DAMAGED
├── Conflict                    ABORTED              CONFLICT
├── DeadlinePassed              DEADLINE_EXCEEDED    DEADLINE
├── Cancelled                   CANCELLED            CANCELLED
└── InternalError               INTERNAL             INTERNAL

Each class knows its status code, its published reason and its dynamic parts; `remembrancer.runtime.status` is the one
place that turns them into a gRPC status. No text here holds a host, path, key or another caller's id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from google.rpc import code_pb2

from remembrancer.v1 import errors_pb2

DOMAIN = "remembrancer"


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that is wrong: its proto path, such as `procedure.steps[0].summary`, and what would be right."""

    field: str
    description: str


class RemembrancerError(Exception):
    """Base of every error that a caller may see."""

    code: ClassVar[int] = code_pb2.INTERNAL
    reason: ClassVar[int] = errors_pb2.ERROR_REASON_INTERNAL

    def __init__(self, message: str, **metadata: str) -> None:
        """Take the text for a person and the dynamic parts for a program (ErrorInfo.metadata)."""
        super().__init__(message)
        self.message = message
        self.metadata = metadata


class InvalidField(RemembrancerError):
    """One or more request fields are wrong."""

    code = code_pb2.INVALID_ARGUMENT
    reason = errors_pb2.ERROR_REASON_FIELD_INVALID

    def __init__(self, field: str, description: str, *more: Violation) -> None:
        """Take the first violation and any further ones."""
        self.violations: Sequence[Violation] = (Violation(field, description), *more)
        super().__init__("; ".join(f"{v.field}: {v.description}" for v in self.violations[:5]), field=field)


class RequestIdReused(RemembrancerError):
    """The request_id was used before with another body."""

    code = code_pb2.INVALID_ARGUMENT
    reason = errors_pb2.ERROR_REASON_REQUEST_ID_REUSED

    def __init__(self) -> None:
        """Name the field; its value is the caller's own business."""
        self.violations: Sequence[Violation] = (
            Violation("request_id", "was used before with another body; take a new one"),
        )
        super().__init__("request_id was used before with another body", field="request_id")


class MsgIdReused(RemembrancerError):
    """Message ids of turns were used before for other texts."""

    code = code_pb2.INVALID_ARGUMENT
    reason = errors_pb2.ERROR_REASON_MSG_ID_REUSED

    def __init__(self, turns: Mapping[int, str]) -> None:
        """Take the places of the turns in the request, and for each the turn that has its id."""
        self.violations: Sequence[Violation] = [
            Violation(f"turns[{i}].msg_id", f"{other} has it with another text; UpdateMemory changes a recorded turn")
            for i, other in sorted(turns.items())
        ]
        named = ", ".join(f"turns[{i}] ({other})" for i, other in sorted(turns.items())[:5])
        more = f" and {len(turns) - 5} more" if len(turns) > 5 else ""
        super().__init__(f"msg_id was used before with another text: {named}{more}", field=self.violations[0].field)


class NotFound(RemembrancerError):
    """Something named by the caller does not exist for that caller."""

    code = code_pb2.NOT_FOUND
    resource_type: ClassVar[str] = ""

    def __init__(self, name: str) -> None:
        """Take the id as the caller sent it."""
        super().__init__(f"no such {self.resource_type}: {name}", resource=name)
        self.resource_name = name


class SessionNotFound(NotFound):
    """No such session, or another caller's."""

    reason = errors_pb2.ERROR_REASON_SESSION_NOT_FOUND
    resource_type = "session"


class RetrievalNotFound(NotFound):
    """No such retrieval, another caller's, or one past its retention."""

    reason = errors_pb2.ERROR_REASON_RETRIEVAL_NOT_FOUND
    resource_type = "retrieval"


class MemoryNotFound(NotFound):
    """No such memory in this scope."""

    reason = errors_pb2.ERROR_REASON_MEMORY_NOT_FOUND
    resource_type = "memory"


class PreconditionFailed(RemembrancerError):
    """What the call is about is not in a state that allows it."""

    code = code_pb2.FAILED_PRECONDITION

    def __init__(self, message: str, subject: str) -> None:
        """Take the text and the id of what is in the way."""
        super().__init__(message, subject=subject)
        self.subjects: Sequence[str] = (subject,)


class SessionScopeMismatch(PreconditionFailed):
    """The session was opened in another scope."""

    reason = errors_pb2.ERROR_REASON_SESSION_SCOPE_MISMATCH

    def __init__(self, session_id: str) -> None:
        """Take the session id as sent."""
        super().__init__("the session was opened in another scope", session_id)


class SessionFull(PreconditionFailed):
    """The session holds as many retrievals as it may."""

    reason = errors_pb2.ERROR_REASON_SESSION_FULL

    def __init__(self, session_id: str, limit: int) -> None:
        """Take the session id as sent and the limit."""
        super().__init__(f"the session holds {limit} retrievals; open another one", session_id)


class SessionEnded(PreconditionFailed):
    """The session was committed or abandoned."""

    reason = errors_pb2.ERROR_REASON_SESSION_ENDED

    def __init__(self, session_id: str, how: str) -> None:
        """Take the session id as sent, and how it ended: "committed" or "abandoned"."""
        super().__init__(f"the session was {how}; open another one", session_id)


class SessionExpired(PreconditionFailed):
    """The session was idle for too long."""

    reason = errors_pb2.ERROR_REASON_SESSION_EXPIRED

    def __init__(self, session_id: str) -> None:
        """Take the session id as sent."""
        super().__init__("the session was idle for too long; open another one", session_id)


class ScopeNotEmpty(PreconditionFailed):
    """An import needs a scope that was never written to."""

    reason = errors_pb2.ERROR_REASON_SCOPE_NOT_EMPTY

    def __init__(self, scope: str) -> None:
        """Take the canonical scope."""
        super().__init__("the scope was written to before; import into a new one", scope)


class FeedbackMissing(PreconditionFailed):
    """A commit was refused because retrievals are not covered by feedback."""

    reason = errors_pb2.ERROR_REASON_FEEDBACK_INCOMPLETE

    def __init__(self, session_id: str, detail: errors_pb2.FeedbackIncomplete) -> None:
        """Take the session id and the typed detail; one PreconditionFailure violation per listed retrieval."""
        super().__init__(_not_covered(detail), session_id)
        self.detail = detail
        self.subjects = tuple(r.retrieval_id for r in detail.retrievals)


def lacking(retrieval: errors_pb2.UncoveredRetrieval) -> str:
    """Return what keeps a retrieval from being covered."""
    count = retrieval.outstanding_count
    return f"{count} not assessed" if count else "COMPLETE not declared"


def _not_covered(detail: errors_pb2.FeedbackIncomplete) -> str:
    first = detail.retrievals[0] if detail.retrievals else errors_pb2.UncoveredRetrieval()
    are = "retrieval is" if detail.total == 1 else "retrievals are"
    return (
        f"{detail.total} {are} not covered by feedback: call Feedback with coverage COMPLETE for each; one with "
        f"nothing outstanding needs only that. First: {first.retrieval_id} ({lacking(first)}). GetSession lists all"
    )


class CredentialsMissing(RemembrancerError):
    """No credentials came with the call."""

    code = code_pb2.UNAUTHENTICATED
    reason = errors_pb2.ERROR_REASON_CREDENTIALS_MISSING


class CredentialsInvalid(RemembrancerError):
    """The credentials are wrong or expired."""

    code = code_pb2.UNAUTHENTICATED
    reason = errors_pb2.ERROR_REASON_CREDENTIALS_INVALID


class Retryable(RemembrancerError):
    """Worth trying again after `retry_after` seconds (RetryInfo)."""

    retry_after: ClassVar[float] = 0.5


class Overloaded(Retryable):
    """Too many calls are in flight."""

    code = code_pb2.RESOURCE_EXHAUSTED
    reason = errors_pb2.ERROR_REASON_OVERLOADED


class StoreDamaged(RemembrancerError):
    """What the store holds of a scope cannot be used: a key of another type, a counter that is no number.

    Nothing was changed.
    """

    code = code_pb2.DATA_LOSS
    reason = errors_pb2.ERROR_REASON_STORE_DAMAGED

    def __init__(self) -> None:
        """Say so; which key it is stands in the log."""
        super().__init__("what the store holds of this scope is damaged; nothing was changed")


class Conflict(RemembrancerError):
    """Concurrent changes outlasted the server's own retries."""

    code = code_pb2.ABORTED
    reason = errors_pb2.ERROR_REASON_CONFLICT


class DeadlinePassed(RemembrancerError):
    """The caller's deadline passed."""

    code = code_pb2.DEADLINE_EXCEEDED
    reason = errors_pb2.ERROR_REASON_DEADLINE


class Cancelled(RemembrancerError):
    """The caller cancelled."""

    code = code_pb2.CANCELLED
    reason = errors_pb2.ERROR_REASON_CANCELLED


class Unavailable(Retryable):
    """A part of the service cannot be reached right now."""

    code = code_pb2.UNAVAILABLE


class StoreUnavailable(Unavailable):
    """The partition store cannot be reached."""

    reason = errors_pb2.ERROR_REASON_STORE_UNAVAILABLE


class TiersUnavailable(Unavailable):
    """No asked tier answered, or a required one failed."""

    reason = errors_pb2.ERROR_REASON_TIERS_UNAVAILABLE


class WriteNotDurable(Unavailable):
    """It is not known whether a write is durable."""

    reason = errors_pb2.ERROR_REASON_WRITE_NOT_DURABLE


class EncoderUnavailable(Unavailable):
    """Texts cannot be embedded right now."""

    reason = errors_pb2.ERROR_REASON_ENCODER_UNAVAILABLE


class TierUnreachable(Unavailable):
    """A tier could not be reached."""

    reason = errors_pb2.ERROR_REASON_TIER_UNREACHABLE


class TierLate(Unavailable):
    """A tier did not answer within its share of the deadline."""

    code = code_pb2.DEADLINE_EXCEEDED
    reason = errors_pb2.ERROR_REASON_TIER_LATE


class PartitionLoading(Unavailable):
    """A worker is still loading the partition."""

    reason = errors_pb2.ERROR_REASON_PARTITION_LOADING


class PartitionTooLarge(Unavailable):
    """The partition does not fit into the worker's memory budget."""

    code = code_pb2.RESOURCE_EXHAUSTED
    reason = errors_pb2.ERROR_REASON_PARTITION_TOO_LARGE


class InternalError(RemembrancerError):
    """A bug of the service."""
