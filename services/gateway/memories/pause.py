"""PausePersistence and ResumePersistence."""

from __future__ import annotations

from typing import Final

from google.protobuf import duration_pb2

from remembrancer.model.clock import from_ms
from remembrancer.model.errors import InvalidField
from remembrancer.model.scope import AXIS_LENGTH, parse_scope
from remembrancer.model.text import bounded
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.v1 import pause_pb2
from services.gateway.requests.calls import Call
from services.gateway.shared.parts import Parts

DEFAULT_MS: Final = 30 * 60 * 1000
SHORTEST_MS: Final = 1000
LONGEST_MS: Final = 24 * 3600 * 1000
NANOS_PER_SECOND: Final = 1_000_000_000
NANOS_PER_MS: Final = 1_000_000


async def pause_persistence(
    parts: Parts, request: pause_pb2.PausePersistenceRequest, call: Call
) -> pause_pb2.PausePersistenceResponse:
    """Pause, or give a pause another end."""
    bounded("session_key", request.session_key, AXIS_LENGTH)
    length = _milliseconds(request.duration) if request.HasField("duration") else DEFAULT_MS
    scope = parse_scope(request.scope)
    keys = PartitionKeys.of(scope.path)
    change = Change(keys)
    change.write("SET", keys.pause(call.caller, request.session_key), "1", "PX", length)
    outcome = await parts.store.apply(change)
    return pause_pb2.PausePersistenceResponse(paused_until=from_ms(outcome.now_ms + length))


async def resume_persistence(
    parts: Parts, request: pause_pb2.ResumePersistenceRequest, call: Call
) -> pause_pb2.ResumePersistenceResponse:
    """End a pause."""
    bounded("session_key", request.session_key, AXIS_LENGTH)
    scope = parse_scope(request.scope)
    keys = PartitionKeys.of(scope.path)
    key = keys.pause(call.caller, request.session_key)
    paused = bool(await parts.store.read_one(("EXISTS", key)))
    change = Change(keys)
    change.write("DEL", key)
    await parts.store.apply(change)
    return pause_pb2.ResumePersistenceResponse(was_paused=paused)


def _milliseconds(duration: duration_pb2.Duration) -> int:
    if not 0 <= duration.nanos < NANOS_PER_SECOND:
        raise InvalidField("duration.nanos", f"must be 0 to {NANOS_PER_SECOND - 1}")
    nanoseconds = duration.seconds * NANOS_PER_SECOND + duration.nanos
    if not SHORTEST_MS * NANOS_PER_MS <= nanoseconds <= LONGEST_MS * NANOS_PER_MS:
        raise InvalidField("duration", "must be 1 second to 24 hours")
    return nanoseconds // NANOS_PER_MS
