"""Remember and RecordTurns: their checks, and the records they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.auto_project import resolve_auto
from remembrancer.model.axes import check_axes, for_write
from remembrancer.model.clock import check_timestamp, parse_time
from remembrancer.model.limits import CONTENT_LENGTH, NAME_LENGTH
from remembrancer.model.scope import AXIS_LENGTH, parse_scope
from remembrancer.model.speakers import names_of
from remembrancer.model.text import bounded, counted, request_id, require, same_text_key
from remembrancer.store.keys import digest
from remembrancer.v1 import common_pb2, memory_pb2
from services.gateway.memories.write_state import Draft
from services.gateway.memories.writes import Batch, write
from services.gateway.requests import enums
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import BATCH
from services.gateway.shared.parts import Parts

REMEMBER: Final = "Remember"
RECORD_TURNS: Final = "RecordTurns"

TURNS_NAMED: Final = 5
"""Turns that the warning about unreadable times names."""


async def remember(parts: Parts, request: memory_pb2.RememberRequest, call: Call) -> memory_pb2.RememberResponse:
    """Store statements."""
    counted("memories", request.memories, 1, BATCH)
    for i, item in enumerate(request.memories):
        enums.known(f"memories[{i}].type", common_pb2.MemoryType, item.type, required=True)
        require(f"memories[{i}].content", item.content, CONTENT_LENGTH)
        if item.HasField("occurred_at"):
            check_timestamp(f"memories[{i}].occurred_at", item.occurred_at)
        _check_source(f"memories[{i}].source", item.source)
    scope = parse_scope(request.scope)
    axes = check_axes(request.axes, scope)
    own = [check_axes(item.axes, scope, f"memories[{i}].axes") for i, item in enumerate(request.memories)]
    _check_common(request)
    drafts = partial(_observations, request.memories, own, axes, parts.operating_context.projects)
    batch = Batch(REMEMBER, scope, request.session_id, request.request_id, request.session_key, request, drafts)
    written = await write(parts, batch, call)
    return memory_pb2.RememberResponse(results=written.results, persisted=written.persisted, warnings=written.warnings)


async def record_turns(
    parts: Parts, request: memory_pb2.RecordTurnsRequest, call: Call
) -> memory_pb2.RecordTurnsResponse:
    """Store conversation turns."""
    counted("turns", request.turns, 1, BATCH)
    for i, turn in enumerate(request.turns):
        require(f"turns[{i}].content", turn.content, CONTENT_LENGTH)
        for name in ("role", "name", "timestamp", "msg_id"):
            bounded(f"turns[{i}].{name}", getattr(turn, name), NAME_LENGTH)
    scope = parse_scope(request.scope)
    axes = check_axes(request.axes, scope)
    _check_source("source", request.source)
    _check_common(request)
    source = request.source if request.HasField("source") else None
    drafts = partial(_turns, request.turns, source, axes, parts.operating_context.projects)
    batch = Batch(RECORD_TURNS, scope, request.session_id, request.request_id, request.session_key, request, drafts)
    written = await write(parts, batch, call)
    return memory_pb2.RecordTurnsResponse(
        results=written.results, persisted=written.persisted, warnings=written.warnings
    )


def _check_common(request: memory_pb2.RememberRequest | memory_pb2.RecordTurnsRequest) -> None:
    request_id(request.request_id)
    bounded("session_key", request.session_key, AXIS_LENGTH)


def _check_source(field: str, source: common_pb2.SourceInfo) -> None:
    for name in ("kind", "integration", "integration_version"):
        bounded(f"{field}.{name}", getattr(source, name), NAME_LENGTH)


def _observations(
    items: Sequence[memory_pb2.MemoryInput],
    own: Sequence[common_pb2.Axes],
    axes: common_pb2.Axes,
    projects: Mapping[str, str] | None,
    session_axes: common_pb2.Axes,
) -> list[Draft]:
    return [
        _observation(item, for_write(item_axes, axes, session_axes), projects)
        for item, item_axes in zip(items, own, strict=True)
    ]


def _observation(item: memory_pb2.MemoryInput, axes: common_pb2.Axes, projects: Mapping[str, str] | None) -> Draft:
    axes, project, warnings = resolve_auto(axes, projects)
    return Draft(
        record=store_pb2.Record(
            kind=store_pb2.RECORD_KIND_OBSERVATION,
            type=item.type,
            content=item.content,
            axes=axes,
            source=item.source if item.HasField("source") else None,
            occurred_at=item.occurred_at if item.HasField("occurred_at") else None,
        ),
        duplicate=digest("observation", same_text_key(item.content)),
        analysed=item.content,
        project=project,
        warnings=warnings,
    )


def _turns(
    turns: Sequence[memory_pb2.TurnInput],
    source: common_pb2.SourceInfo | None,
    axes: common_pb2.Axes,
    projects: Mapping[str, str] | None,
    session_axes: common_pb2.Axes,
) -> list[Draft]:
    resolved, project, warnings = resolve_auto(for_write(axes, session_axes), projects)
    drafts = [_turn(turn, source, resolved) for turn in turns]
    warnings = [*warnings, *_uncertain_times(drafts)]
    for draft in drafts:
        draft.project, draft.warnings = project, warnings
    return drafts


def _uncertain_times(drafts: Sequence[Draft]) -> list[common_pb2.Warning]:
    places = [i for i, draft in enumerate(drafts) if draft.record.time_uncertain]
    if not places:
        return []
    named = ", ".join(f"turns[{i}]" for i in places[:TURNS_NAMED]) + (", ..." if len(places) > TURNS_NAMED else "")
    message = f"{len(places)} of the turns have no time that could be read, and take the time of arrival: {named}"
    return [common_pb2.Warning(code=common_pb2.WARNING_CODE_TIME_UNCERTAIN, message=message)]


def _turn(turn: memory_pb2.TurnInput, source: common_pb2.SourceInfo | None, axes: common_pb2.Axes) -> Draft:
    moment = parse_time(turn.timestamp)
    return Draft(
        record=store_pb2.Record(
            kind=store_pb2.RECORD_KIND_TURN,
            content=turn.content,
            axes=axes,
            role=turn.role,
            name=turn.name,
            msg_id=turn.msg_id,
            source=source,
            occurred_at=moment,
            time_uncertain=moment is None,
        ),
        duplicate=_turn_digest(turn, axes, moment),
        analysed=f"{turn.name}: {turn.content}" if turn.name else turn.content,
        speakers=names_of(turn.name),
    )


def _turn_digest(turn: memory_pb2.TurnInput, axes: common_pb2.Axes, moment: timestamp_pb2.Timestamp | None) -> str:
    """Return what makes two turns the same: the message id, else who said what when; in one conversation."""
    where = (axes.agent_id, axes.user_id, axes.project_id, axes.channel, axes.conversation_id)
    if turn.msg_id:
        return digest("message", *where, turn.msg_id)
    if moment is None:
        return ""
    return digest("turn", *where, turn.role, turn.name, turn.timestamp, turn.content)
