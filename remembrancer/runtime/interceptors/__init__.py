"""What happens around every call, in one order for every process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remembrancer.runtime.interceptors.admission import Admission
from remembrancer.runtime.interceptors.auth import WorkerToken
from remembrancer.runtime.interceptors.base import Interceptor
from remembrancer.runtime.interceptors.deadlines import Deadlines
from remembrancer.runtime.interceptors.decoding import Decoding
from remembrancer.runtime.interceptors.errors import Errors
from remembrancer.runtime.interceptors.request_id import RequestIds
from remembrancer.runtime.interceptors.streams import StreamLimits, Streams

__all__ = [
    "Admission",
    "Deadlines",
    "Decoding",
    "Errors",
    "Interceptor",
    "RequestIds",
    "StreamLimits",
    "WorkerToken",
    "chain",
]


def chain(
    *,
    max_in_flight: int,
    default_deadline: float = 5.0,
    deadlines: Mapping[str, float] | None = None,
    auth: Sequence[Interceptor] = (),
    streams: StreamLimits = StreamLimits(),  # noqa: B008  (frozen)
) -> list[Interceptor]:
    """Return the interceptors of a server, outermost first.

    `default_deadline` and `deadlines` (full method -> seconds) bound unary calls whose caller set no deadline.
    `streams` bounds streams whatever their caller set; they are no part of `max_in_flight`.
    """
    return [
        RequestIds(),  # first, so that every later line of the log has the id
        Errors(),  # around all that may raise: whatever happens inside becomes a status with an ErrorInfo
        *auth,  # before anything that costs: strangers take no room and learn nothing about their request
        Admission(max_in_flight, streams.at_once),  # before the body is decoded, so that an overload is cheap to refuse
        Deadlines(default_deadline, deadlines or {}, streams.whole),
        Streams(streams),  # inside of all that notes something for the call and undoes it
        Decoding(),  # innermost: undecodable bytes are an error of the fields, which come after the credentials
    ]
