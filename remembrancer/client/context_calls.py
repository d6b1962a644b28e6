"""RecallWithContext as a call, and the entries of its conversation."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from remembrancer.client.arguments import AxesLike, Given, Moment, ScopeLike, StructLike, build, to_scope
from remembrancer.client.calls import READ_S, Call, fresh_id
from remembrancer.client.enums import EnumLike
from remembrancer.v1 import recall_pb2


def context_entry(
    content: str, *, role: str = "", name: str = "", user_id: str = "", timestamp: str | datetime = ""
) -> recall_pb2.ContextEntry:
    """Return an entry of the held conversation; one of role `user` or `assistant` is echoed."""
    return build(recall_pb2.ContextEntry, role=role, name=name, user_id=user_id, content=content, timestamp=timestamp)


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
