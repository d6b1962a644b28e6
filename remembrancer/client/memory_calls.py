"""The calls of MemoryService, but for the streams, which are in `transfer_calls`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from remembrancer.client.arguments import AxesLike, Given, Moment, ScopeLike, build, to_scope
from remembrancer.client.call import READ_S, WRITE_S, Call, fresh_id
from remembrancer.client.enums import EnumLike
from remembrancer.v1 import common_pb2, correction_pb2, listing_pb2, memory_pb2, pause_pb2, record_pb2

COUNT_S: Final = 60.0
"""Default deadline of GetScope, in seconds, the server's own: it reads every record of the scope."""

FORGET_S: Final = 600.0
"""Default deadline of Forget, in seconds: it answers when all is erased, which takes a large scope longer than the 60 s
that the server gives to callers who set none. An erasure that the deadline cuts short goes on; the same `request_id`
again waits for its end."""


def remember(
    memories: Iterable[Given[memory_pb2.MemoryInput]],
    *,
    scope: ScopeLike,
    axes: AxesLike | None = None,
    session_id: str = "",
    session_key: str = "",
    request_id: str | None = None,
    timeout: float = WRITE_S,
) -> Call[memory_pb2.RememberResponse]:
    """Store 1 to 100 statements, all or none: `remember([memory("fact", "...")], scope=...)`."""
    request = build(
        memory_pb2.RememberRequest,
        scope=to_scope(scope),
        memories=memories,
        axes=axes,
        session_id=session_id,
        session_key=session_key,
        request_id=fresh_id(request_id),
    )
    return Call("MemoryService/Remember", request, memory_pb2.RememberResponse, timeout)


def record_turns(
    turns: Iterable[Given[memory_pb2.TurnInput]],
    *,
    scope: ScopeLike,
    axes: AxesLike | None = None,
    session_id: str = "",
    session_key: str = "",
    source: Given[common_pb2.SourceInfo] | None = None,
    request_id: str | None = None,
    timeout: float = WRITE_S,
) -> Call[memory_pb2.RecordTurnsResponse]:
    """Store 1 to 100 conversation turns, all or none, oldest first: `record_turns([turn("...", name="Ada")], ...)`."""
    request = build(
        memory_pb2.RecordTurnsRequest,
        scope=to_scope(scope),
        turns=turns,
        axes=axes,
        session_id=session_id,
        session_key=session_key,
        source=source,
        request_id=fresh_id(request_id),
    )
    return Call("MemoryService/RecordTurns", request, memory_pb2.RecordTurnsResponse, timeout)


def update_memory(
    memory_id: str,
    *,
    scope: ScopeLike,
    content: str | None = None,
    type: EnumLike = 0,  # noqa: A002
    occurred_at: Moment | None = None,
    axes: AxesLike | None = None,
    any_axis: Iterable[EnumLike] = (),
    request_id: str | None = None,
    timeout: float = WRITE_S,
) -> Call[correction_pb2.UpdateMemoryResponse]:
    """Change text, type or time of one observation or turn."""
    request = build(
        correction_pb2.UpdateMemoryRequest,
        scope=to_scope(scope),
        memory_id=memory_id,
        content=content,
        type=type,
        occurred_at=occurred_at,
        axes=axes,
        any_axis=any_axis,
        request_id=fresh_id(request_id),
    )
    return Call("MemoryService/UpdateMemory", request, correction_pb2.UpdateMemoryResponse, timeout)


def forget(
    memory_id: str | None = None,
    *,
    scope: ScopeLike,
    selection: Given[record_pb2.MemorySelection] | None = None,
    whole_scope: bool | None = None,
    axes: AxesLike | None = None,
    any_axis: Iterable[EnumLike] = (),
    suppress: bool = False,
    request_id: str | None = None,
    timeout: float = FORGET_S,
) -> Call[correction_pb2.ForgetResponse]:
    """Erase one memory, a selection, or the whole scope; `suppress` only hides."""
    request = build(
        correction_pb2.ForgetRequest,
        scope=to_scope(scope),
        memory_id=memory_id,
        selection=selection,
        whole_scope=whole_scope,
        axes=axes,
        any_axis=any_axis,
        suppress=suppress,
        request_id=fresh_id(request_id),
    )
    return Call("MemoryService/Forget", request, correction_pb2.ForgetResponse, timeout)


def restore_memory(
    memory_id: str,
    *,
    scope: ScopeLike,
    axes: AxesLike | None = None,
    any_axis: Iterable[EnumLike] = (),
    request_id: str | None = None,
    timeout: float = WRITE_S,
) -> Call[correction_pb2.RestoreMemoryResponse]:
    """Bring back what was suppressed or declared STALE."""
    request = build(
        correction_pb2.RestoreMemoryRequest,
        scope=to_scope(scope),
        memory_id=memory_id,
        axes=axes,
        any_axis=any_axis,
        request_id=fresh_id(request_id),
    )
    return Call("MemoryService/RestoreMemory", request, correction_pb2.RestoreMemoryResponse, timeout)


def pause_persistence(
    *,
    scope: ScopeLike,
    session_key: str = "",
    duration: timedelta | None = None,
    timeout: float = WRITE_S,
) -> Call[pause_pb2.PausePersistenceResponse]:
    """Have writes with this session_key store nothing, for 30 minutes unless told otherwise."""
    request = build(
        pause_pb2.PausePersistenceRequest, scope=to_scope(scope), session_key=session_key, duration=duration
    )
    return Call("MemoryService/PausePersistence", request, pause_pb2.PausePersistenceResponse, timeout)


def resume_persistence(
    *, scope: ScopeLike, session_key: str = "", timeout: float = WRITE_S
) -> Call[pause_pb2.ResumePersistenceResponse]:
    """End a pause before its time."""
    request = build(pause_pb2.ResumePersistenceRequest, scope=to_scope(scope), session_key=session_key)
    return Call("MemoryService/ResumePersistence", request, pause_pb2.ResumePersistenceResponse, timeout)


def list_memories(
    *,
    scope: ScopeLike,
    selection: Given[record_pb2.MemorySelection] | None = None,
    include_stale: bool = False,
    include_suppressed: bool = False,
    page_size: int = 0,
    page_token: str = "",
    timeout: float = READ_S,
) -> Call[listing_pb2.ListMemoriesResponse]:
    """Return one page of a scope's memories, newest first; see `selection`."""
    request = build(
        listing_pb2.ListMemoriesRequest,
        scope=to_scope(scope),
        selection=selection,
        include_stale=include_stale,
        include_suppressed=include_suppressed,
        page_size=page_size,
        page_token=page_token,
    )
    return Call("MemoryService/ListMemories", request, listing_pb2.ListMemoriesResponse, timeout)


def get_scope(*, scope: ScopeLike, timeout: float = COUNT_S) -> Call[listing_pb2.GetScopeResponse]:
    """Count what a scope holds."""
    request = build(listing_pb2.GetScopeRequest, scope=to_scope(scope))
    return Call("MemoryService/GetScope", request, listing_pb2.GetScopeResponse, timeout)


def list_scopes(
    *, prefix: str = "", page_size: int = 0, page_token: str = "", timeout: float = READ_S
) -> Call[listing_pb2.ListScopesResponse]:
    """Return one page of the scopes that hold records."""
    request = build(listing_pb2.ListScopesRequest, prefix=prefix, page_size=page_size, page_token=page_token)
    return Call("MemoryService/ListScopes", request, listing_pb2.ListScopesResponse, timeout)
