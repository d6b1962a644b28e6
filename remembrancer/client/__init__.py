"""The Python client, sync and async; needs grpcio, protobuf and googleapis-common-protos only."""

from remembrancer.client.aio import AsyncClient
from remembrancer.client.context_calls import context_entry
from remembrancer.client.enums import name_of, names_of
from remembrancer.client.errors import (
    Aborted,
    Cancelled,
    ClientError,
    DeadlineExceeded,
    FeedbackIncompleteError,
    FeedbackRejectedError,
    FieldViolation,
    InternalError,
    InvalidArgument,
    NotConnected,
    NotFound,
    PermissionDenied,
    PreconditionFailed,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    reason_of,
)
from remembrancer.client.inputs import (
    feedback_item,
    memory,
    memory_feedback,
    procedure,
    procedure_feedback,
    tenant,
    trajectory_entry,
    turn,
    verification,
)
from remembrancer.client.memory_calls import selection
from remembrancer.client.sync import Client

__all__ = [
    "Aborted",
    "AsyncClient",
    "Cancelled",
    "Client",
    "ClientError",
    "DeadlineExceeded",
    "FeedbackIncompleteError",
    "FeedbackRejectedError",
    "FieldViolation",
    "InternalError",
    "InvalidArgument",
    "NotConnected",
    "NotFound",
    "PermissionDenied",
    "PreconditionFailed",
    "ResourceExhausted",
    "Unauthenticated",
    "Unavailable",
    "context_entry",
    "feedback_item",
    "memory",
    "memory_feedback",
    "name_of",
    "names_of",
    "procedure",
    "procedure_feedback",
    "reason_of",
    "selection",
    "tenant",
    "trajectory_entry",
    "turn",
    "verification",
]
