"""ListMemories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.scope import parse_scope
from remembrancer.model.selection import Selection
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys, digest
from remembrancer.store.live import newest_below
from remembrancer.store.partition import fields_at, members_at
from remembrancer.v1 import common_pb2, listing_pb2
from services.gateway.memories.selecting import check_selection
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import whole_number
from services.gateway.requests.paging import PAGE_BYTES, page_token, position_of
from services.gateway.shared.memory_record import PREVIEW, memory_record
from services.gateway.shared.parts import Parts

PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 500
CHUNK: Final = 100
"""Records looked up at a time."""

LOOKED_AT: Final = 20_000
"""Records looked up for one page at most, so that a rare selection costs no single call too much."""


async def list_memories(
    parts: Parts, request: listing_pb2.ListMemoriesRequest, call: Call
) -> listing_pb2.ListMemoriesResponse:
    """Return one page, newest first."""
    del call
    scope = parse_scope(request.scope)
    selection = check_selection(request.selection, scope, parts.operating_context.projects)
    size = whole_number("page_size", request.page_size or None, PAGE_DEFAULT, 1, PAGE_MAX)
    keys = PartitionKeys.of(scope.path)
    below = position_of(request.page_token, _description(request))
    upper = int(below) if below.isascii() and below.isdigit() else None
    async with parts.list_gate.passed(keys.partition):
        return await _page(parts, request, keys, selection, size, upper)


async def _page(
    parts: Parts,
    request: listing_pb2.ListMemoriesRequest,
    keys: PartitionKeys,
    selection: Selection,
    size: int,
    upper: int | None,
) -> listing_pb2.ListMemoriesResponse:
    this_list = _description(request)
    response, used = listing_pb2.ListMemoriesResponse(), 0
    for _ in range(0, LOOKED_AT, CHUNK):
        ns = await newest_below(parts.store, keys, upper, CHUNK)
        for n, record, count, waiting in await _chunk(parts, keys, ns):
            if not _listed(request, selection, record):
                continue
            shown = memory_record(n, record, preview=PREVIEW, recalls=count, embedded=not waiting)
            used += shown.ByteSize() + 8
            if len(response.memories) == size or (used > PAGE_BYTES and response.memories):
                response.next_page_token = page_token(this_list, str(n + 1))
                return response
            response.memories.append(shown)
        if len(ns) < CHUNK:
            return response
        upper = ns[-1]
    response.next_page_token = page_token(this_list, str(upper))
    return response


async def _chunk(parts: Parts, keys: PartitionKeys, ns: Sequence[int]) -> list[tuple[int, store_pb2.Record, int, bool]]:
    snapshot = await parts.store.read(
        fields_at(keys.records, ns), fields_at(keys.counts, ns), members_at(keys.unembedded, ns)
    )
    return [
        (n, record, decode.number(count) or 0, bool(waiting))
        for n, raw, count, waiting in zip(ns, *snapshot.answers, strict=True)
        if (record := decode.record(raw)) is not None
    ]


def _listed(request: listing_pb2.ListMemoriesRequest, selection: Selection, record: store_pb2.Record) -> bool:
    if record.suppressed:
        return request.include_suppressed and selection.matches(record)
    stale = record.status == common_pb2.MEMORY_STATUS_STALE
    return (request.include_stale or not stale) and selection.matches(record)


def _description(request: listing_pb2.ListMemoriesRequest) -> str:
    """Return what makes a list the same from page to page: everything but size and position."""
    same = listing_pb2.ListMemoriesRequest()
    same.CopyFrom(request)
    same.ClearField("page_size")
    same.ClearField("page_token")
    return digest("memories", same.SerializeToString(deterministic=True))
