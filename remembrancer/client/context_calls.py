"""RecallWithContext as a call, and the entries of its conversation."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from remembrancer.client.arguments import (
    AxesLike,
    EnumLike,
    Moment,
    ScopeLike,
    StructLike,
    build,
    enum_number,
    enum_numbers,
    to_axes,
    to_scope,
    to_struct,
    to_timestamp,
)
from remembrancer.client.calls import READ_S, Call, fresh_id
from remembrancer.v1 import common_pb2, recall_pb2


def context_entry(
    content: str, *, role: str = "", name: str = "", user_id: str = "", timestamp: str | datetime = ""
) -> recall_pb2.ContextEntry:
    """Return an entry of the held conversation; one of role `user` or `assistant` is echoed."""
    when = timestamp.isoformat() if isinstance(timestamp, datetime) else timestamp
    return build(recall_pb2.ContextEntry, role=role, name=name, user_id=user_id, content=content, timestamp=when)


def recall_with_context(
    query: str,
    *,
    scope: ScopeLike,
    agent_id: str,
    external_context: Iterable[recall_pb2.ContextEntry] = (),
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
        mode=enum_number(recall_pb2.RecallMode, mode),
        agent_id=agent_id,
        limit=limit,
        min_score=min_score,
        relax_gate=relax_gate,
        full_content=full_content,
        task_context=to_struct(task_context),
        evidence=enum_number(recall_pb2.EvidenceMode, evidence),
        probable_answer=probable_answer,
        axes=to_axes(axes),
        any_axis=enum_numbers(common_pb2.Axis, any_axis),
        kinds=enum_numbers(common_pb2.MemoryKind, kinds),
        types=enum_numbers(common_pb2.MemoryType, types),
        occurred_after=to_timestamp(occurred_after),
        occurred_before=to_timestamp(occurred_before),
        as_of=to_timestamp(as_of),
        include_superseded=include_superseded,
        require_tiers=enum_numbers(common_pb2.Tier, require_tiers),
        session_key=session_key,
        request_id=fresh_id(request_id),
        external_context=list(external_context),
    )
    path = "/remembrancer.v1.RecallService/RecallWithContext"
    return Call(path, request, recall_pb2.RecallWithContextResponse, timeout)
