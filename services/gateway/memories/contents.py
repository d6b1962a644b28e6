"""GetContents."""

from __future__ import annotations

from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import parse_record
from remembrancer.model.scope import AXIS_LENGTH, parse_scope
from remembrancer.model.text import bounded, counted
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import fields_at, members_at
from remembrancer.v1 import contents_pb2
from services.gateway.memories.selecting import NO_RECORD, check_view, named_by
from services.gateway.requests.calls import Call
from services.gateway.shared.memory_record import memory_record
from services.gateway.shared.parts import Parts

IDS_MAX: Final = 20
BUDGET: Final = 40_000
"""Code points of all contents of one answer."""


async def get_contents(
    parts: Parts, request: contents_pb2.GetContentsRequest, call: Call
) -> contents_pb2.GetContentsResponse:
    """Return whole texts in the order asked for, within the budget."""
    del call
    counted("memory_ids", request.memory_ids, 1, IDS_MAX)
    for i, memory_id in enumerate(request.memory_ids):
        bounded(f"memory_ids[{i}]", memory_id, AXIS_LENGTH)
    scope = parse_scope(request.scope)
    view = check_view(request.axes, request.any_axis, scope, parts.operating_context.projects)
    keys = PartitionKeys.of(scope.path)
    wanted = {memory_id: parse_record(memory_id) or NO_RECORD for memory_id in request.memory_ids}
    ns = [n for _, n in wanted.values()]
    snapshot = await parts.store.read(
        fields_at(keys.records, ns), fields_at(keys.counts, ns), members_at(keys.unembedded, ns)
    )
    response, left = contents_pb2.GetContentsResponse(), BUDGET
    for (memory_id, (kind, n)), raw, count, waiting in zip(wanted.items(), *snapshot.answers, strict=True):
        record = decode.record(raw)
        procedure = kind == store_pb2.RECORD_KIND_PROCEDURE
        if record is None or procedure or record.suppressed or not named_by(kind, record) or not view.sees(record):
            response.missing.append(memory_id)
        elif response.contents and len(record.content) > left:
            response.deferred.append(memory_id)
        else:
            shown = memory_record(n, record, recalls=decode.number(count) or 0, embedded=not waiting)
            shown.memory_id = memory_id
            response.contents.append(shown)
            left -= len(record.content)
    return response
