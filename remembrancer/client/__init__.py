"""The Python client, sync and async; needs grpcio, protobuf and googleapis-common-protos only."""

from remembrancer.client.aio import AsyncClient
from remembrancer.client.arguments import memory, memory_feedback, procedure_feedback, tenant, turn
from remembrancer.client.context_calls import context_entry
from remembrancer.client.errors import (
    Aborted,
    Cancelled,
    ClientError,
    DeadlineExceeded,
    FeedbackIncompleteError,
    FieldViolation,
    InternalError,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    PreconditionFailed,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    reason_of,
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
    "FieldViolation",
    "InternalError",
    "InvalidArgument",
    "NotFound",
    "PermissionDenied",
    "PreconditionFailed",
    "ResourceExhausted",
    "Unauthenticated",
    "Unavailable",
    "context_entry",
    "memory",
    "memory_feedback",
    "procedure_feedback",
    "reason_of",
    "selection",
    "tenant",
    "turn",
]
