"""The calls of RecallService."""

from __future__ import annotations

from collections.abc import Iterable

from remembrancer.client.arguments import AxesLike, Given, Moment, ScopeLike, StructLike, build, to_scope
from remembrancer.client.call import READ_S, Call, fresh_id
from remembrancer.client.enums import EnumLike
from remembrancer.v1 import contents_pb2, recall_pb2


def recall(
    query: str,
    *,
    scope: ScopeLike,
    session_id: str = "",
    mode: EnumLike = 0,
    top_k: int | None = None,
    min_score: float | None = None,
    task_context: StructLike | None = None,
    evidence: EnumLike = 0,
    include_timeline: bool = False,
    probable_answer: bool | None = None,
    axes: AxesLike | None = None,
    any_axis: Iterable[EnumLike] = (),
    kinds: Iterable[EnumLike] = (),
    types: Iterable[EnumLike] = (),
    occurred_after: Moment | None = None,
    occurred_before: Moment | None = None,
    as_of: Moment | None = None,
    include_superseded: bool = False,
    require_tiers: Iterable[EnumLike] = (),
    session_key: str = "",
    request_id: str | None = None,
    timeout: float = READ_S,
) -> Call[recall_pb2.RecallResponse]:
    """Recall memories; `mode="deep"` asks the graph, too."""
    request = build(
        recall_pb2.RecallRequest,
        query=query,
        scope=to_scope(scope),
        session_id=session_id,
        mode=mode,
        top_k=top_k,
        min_score=min_score,
        task_context=task_context,
        evidence=evidence,
        include_timeline=include_timeline,
        probable_answer=probable_answer,
        axes=axes,
        any_axis=any_axis,
        kinds=kinds,
        types=types,
        occurred_after=occurred_after,
        occurred_before=occurred_before,
        as_of=as_of,
        include_superseded=include_superseded,
        require_tiers=require_tiers,
        session_key=session_key,
        request_id=fresh_id(request_id),
    )
    return Call("RecallService/Recall", request, recall_pb2.RecallResponse, timeout)


def recall_with_context(
    query: str,
    *,
    scope: ScopeLike,
    agent_id: str,
    external_context: Iterable[Given[recall_pb2.ContextEntry]] = (),
    session_id: str = "",
    mode: EnumLike = 0,
    limit: int | None = None,
    min_score: float | None = None,
    relax_gate: bool = False,
    full_content: bool = False,
    task_context: StructLike | None = None,
    evidence: EnumLike = 0,
    probable_answer: bool | None = None,
    axes: AxesLike | None = None,
    any_axis: Iterable[EnumLike] = (),
    kinds: Iterable[EnumLike] = (),
    types: Iterable[EnumLike] = (),
    occurred_after: Moment | None = None,
    occurred_before: Moment | None = None,
    as_of: Moment | None = None,
    include_superseded: bool = False,
    require_tiers: Iterable[EnumLike] = (),
    session_key: str = "",
    request_id: str | None = None,
    timeout: float = READ_S,
) -> Call[recall_pb2.RecallWithContextResponse]:
    """Recall memories merged with a held conversation; a blank query stands for the most recent memories."""
    request = build(
        recall_pb2.RecallWithContextRequest,
        query=query,
        scope=to_scope(scope),
        session_id=session_id,
        mode=mode,
        agent_id=agent_id,
        limit=limit,
        min_score=min_score,
        relax_gate=relax_gate,
        full_content=full_content,
        task_context=task_context,
        evidence=evidence,
        probable_answer=probable_answer,
        axes=axes,
        any_axis=any_axis,
        kinds=kinds,
        types=types,
        occurred_after=occurred_after,
        occurred_before=occurred_before,
        as_of=as_of,
        include_superseded=include_superseded,
        require_tiers=require_tiers,
        session_key=session_key,
        request_id=fresh_id(request_id),
        external_context=external_context,
    )
    return Call("RecallService/RecallWithContext", request, recall_pb2.RecallWithContextResponse, timeout)


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
