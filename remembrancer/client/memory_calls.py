"""Calls that look after memories outside of recalls: one function per call, as in `calls`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from remembrancer.client.arguments import AxesLike, Given, Moment, ScopeLike, build, to_scope
from remembrancer.client.calls import READ_S, WRITE_S, Call, fresh_id
from remembrancer.client.enums import EnumLike
from remembrancer.v1 import contents_pb2, correction_pb2, listing_pb2, pause_pb2, record_pb2

COUNT_S = 60.0
FORGET_S = 600.0


def selection(
    *,
    axes: AxesLike | None = None,
    any_axis: Iterable[EnumLike] = (),
    kinds: Iterable[EnumLike] = (),
    types: Iterable[EnumLike] = (),
    occurred_after: Moment | None = None,
    occurred_before: Moment | None = None,
) -> record_pb2.MemorySelection:
    """Return which memories a call is about; `any_axis=["agent_id"]` stands for every agent's."""
    return build(
        record_pb2.MemorySelection,
        axes=axes,
        any_axis=any_axis,
        kinds=kinds,
        types=types,
        occurred_after=occurred_after,
        occurred_before=occurred_before,
    )


def get_contents(
    memory_ids: Iterable[str],
    *,
    scope: ScopeLike,
    axes: AxesLike | None = None,
    any_axis: Iterable[EnumLike] = (),
    timeout: float = READ_S,
) -> Call[contents_pb2.GetContentsResponse]:
    """Return whole texts of 1 to 20 memories or evidence records by id."""
    request = build(
        contents_pb2.GetContentsRequest,
        scope=to_scope(scope),
        memory_ids=memory_ids,
        axes=axes,
        any_axis=any_axis,
    )
    return Call("RecallService/GetContents", request, contents_pb2.GetContentsResponse, timeout)


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
