"""The one place where an error becomes a `google.rpc.Status`, and back.

A status and its details stay under `DETAILS_LIMIT`: trailers are base64 and gRPC peers accept 8 KiB of metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import grpc
from google.protobuf import duration_pb2
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from remembrancer.model import errors
from remembrancer.v1 import errors_pb2

DETAILS_KEY = "grpc-status-details-bin"
"""Trailer that carries the Status."""

DETAILS_LIMIT = 4000
"""Bytes of one whole Status."""

MESSAGE_LIMIT = 300
"""UTF-8 bytes of the text; a second trailer holds it percent-encoded, three times as long at worst."""

PART_LIMIT = 256
"""UTF-8 bytes of any other part that may depend on the caller."""

ENVELOPE = 400
"""Bytes kept free for type names, lengths and RetryInfo."""

VIOLATIONS_LIMIT = 20
"""Field violations listed, and retrievals without feedback."""

_PREFIX = "ERROR_REASON_"
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def reason_name(reason: int) -> str:
    """Return the published name of an ErrorReason number, such as `FIELD_INVALID`."""
    return errors_pb2.ErrorReason.Name(errors_pb2.ErrorReason.ValueType(reason)).removeprefix(_PREFIX)


def grpc_code(status: status_pb2.Status) -> grpc.StatusCode:
    """Return the gRPC code of a status."""
    return _CODES[status.code]


def trailers(status: status_pb2.Status) -> tuple[tuple[str, bytes], ...]:
    """Return the trailing metadata that carries a status."""
    return ((DETAILS_KEY, status.SerializeToString()),)


def to_status(error: errors.RemembrancerError) -> status_pb2.Status:
    """Return the status of an error: exactly one ErrorInfo and the details that its kind calls for."""
    reason = reason_name(error.reason)
    info = error_details_pb2.ErrorInfo(
        reason=reason,
        domain=errors.DOMAIN,
        metadata={_clip(k, 64): _clip(v) for k, v in list(error.metadata.items())[:6]},
    )
    typed: list[Message] = [info]
    room = DETAILS_LIMIT - MESSAGE_LIMIT - ENVELOPE - info.ByteSize()
    if isinstance(error, errors.InvalidField | errors.RequestIdReused | errors.MsgIdReused):
        typed.append(_bad_request(error.violations, room))
    if isinstance(error, errors.FeedbackMissing):
        typed += _feedback_incomplete(error, reason, room)
    elif isinstance(error, errors.PreconditionFailed):
        typed.append(_precondition(reason, error.subjects, error.message))
    if isinstance(error, errors.NotFound):
        typed.append(
            error_details_pb2.ResourceInfo(
                resource_type=error.resource_type,
                resource_name=_clip(error.resource_name),
                description=_clip(error.message),
            )
        )
    if isinstance(error, errors.Retryable):
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(round(error.retry_after * 1000))
        typed.append(error_details_pb2.RetryInfo(retry_delay=delay))
    return _pack(error.code, error.message, typed)


def status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    """Return the Status that a failed call carries in its trailers, None when there is none or it is damaged."""
    entries: Iterable[tuple[str, str | bytes]] = cast("Any", error.trailing_metadata()) or ()
    for key, value in entries:
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                return None
    return None


def reason_of(error: grpc.aio.AioRpcError) -> str | None:
    """Return the reason in the ErrorInfo of a failed call, such as `PARTITION_LOADING`; None without one of ours."""
    status = status_of(error)
    for packed in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        if packed.Is(info.DESCRIPTOR) and packed.Unpack(info) and info.domain == errors.DOMAIN:
            return str(info.reason)
    return None


def _bad_request(violations: Sequence[errors.Violation], room: int) -> error_details_pb2.BadRequest:
    found = error_details_pb2.BadRequest()
    for violation in violations[:VIOLATIONS_LIMIT]:
        entry = error_details_pb2.BadRequest.FieldViolation(
            field=_clip(violation.field), description=_clip(violation.description)
        )
        room -= entry.ByteSize() + 4
        if room < 0:
            break
        found.field_violations.append(entry)
    return found


def _precondition(reason: str, subjects: Sequence[str], description: str = "") -> error_details_pb2.PreconditionFailure:
    kind = error_details_pb2.PreconditionFailure.Violation
    return error_details_pb2.PreconditionFailure(
        violations=[kind(type=reason, subject=_clip(s), description=_clip(description)) for s in subjects]
    )


def _feedback_incomplete(error: errors.FeedbackMissing, reason: str, room: int) -> list[Message]:
    """Return detail and violations cut to fit: first outstanding ids go, from the longest lists, then retrievals."""
    detail = errors_pb2.FeedbackIncomplete()
    detail.CopyFrom(error.detail)
    if len(detail.retrievals) > VIOLATIONS_LIMIT:
        del detail.retrievals[VIOLATIONS_LIMIT:]
        detail.truncated = True
    while True:
        failure = _precondition(reason, [r.retrieval_id for r in detail.retrievals])
        for violation, retrieval in zip(failure.violations, detail.retrievals, strict=True):
            violation.description = errors.lacking(retrieval)
        if detail.ByteSize() + failure.ByteSize() <= room or not detail.retrievals:
            return [failure, detail]
        longest = max(len(r.outstanding) for r in detail.retrievals)
        if longest:
            cut = next(r for r in reversed(detail.retrievals) if len(r.outstanding) == longest)
            del cut.outstanding[-1]
        else:
            del detail.retrievals[-1]
            detail.truncated = True


def _pack(code: int, message: str, typed: list[Message]) -> status_pb2.Status:
    status = status_pb2.Status(code=code, message=_clip(message, MESSAGE_LIMIT))
    for detail in typed:
        status.details.add().Pack(detail)
    return status


def _clip(text: str, limit: int = PART_LIMIT) -> str:
    """Return text that any protobuf and HTTP/2 peer can take: bounded, no lone surrogates, nothing unprintable."""
    clean = text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return "".join(c if c.isprintable() else "?" for c in clean)
