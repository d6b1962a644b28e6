"""GetScope and ListScopes."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Final

from redis.exceptions import ResponseError

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.scope import SCOPE_LENGTH, parse_scope
from remembrancer.model.text import bounded
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys, digest
from remembrancer.store.partition import fields_at
from remembrancer.v1 import common_pb2, listing_pb2
from services.gateway.memories.list_memories import PAGE_DEFAULT, PAGE_MAX
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import whole_number
from services.gateway.requests.paging import page_token, position_of
from services.gateway.shared.memory_record import KINDS
from services.gateway.shared.parts import Parts

CHUNK: Final = 500


async def get_scope(parts: Parts, request: listing_pb2.GetScopeRequest, call: Call) -> listing_pb2.GetScopeResponse:
    """Count what a scope holds."""
    del call
    scope = parse_scope(request.scope)
    keys = PartitionKeys.of(scope.path)
    model_id = await parts.models.current()
    hashes = [keys.records, keys.learned, *([keys.vectors(model_id)] if model_id else [])]
    n, waiting = (await parts.store.read(("HGET", keys.meta, "n"), ("SCARD", keys.unembedded))).answers
    last = int(n or 0)
    tally: Counter[str] = Counter()
    active: Counter[int] = Counter()
    for lowest in range(1, last + 1, CHUNK):
        ns = range(lowest, min(lowest + CHUNK, last + 1))
        raws = await parts.store.read_one(fields_at(keys.records, ns))
        for record in decode.records(ns, raws).values():
            _count(record, active, tally)
    return listing_pb2.GetScopeResponse(
        path=scope.path,
        scope_known=last > 0,
        active=[
            listing_pb2.KindCount(kind=common_pb2.MemoryKind.ValueType(kind), count=count)
            for kind, count in sorted(active.items())
        ],
        stale=tally["stale"],
        suppressed=tally["suppressed"],
        procedures=tally["procedures"],
        unembedded=waiting,
        stored_bytes=await parts.store.size(hashes),
        last_number=last,
    )


def _count(record: store_pb2.Record, active: Counter[int], tally: Counter[str]) -> None:
    if record.kind == store_pb2.RECORD_KIND_PROCEDURE:
        tally["procedures"] += 1
    elif record.suppressed:
        tally["suppressed"] += 1
    elif record.status == common_pb2.MEMORY_STATUS_STALE:
        tally["stale"] += 1
    else:
        active[KINDS[record.kind]] += 1


async def list_scopes(
    parts: Parts, request: listing_pb2.ListScopesRequest, call: Call
) -> listing_pb2.ListScopesResponse:
    """Return one page of the scopes that hold records."""
    del call
    bounded("prefix", request.prefix, SCOPE_LENGTH)
    size = whole_number("page_size", request.page_size or None, PAGE_DEFAULT, 1, PAGE_MAX)
    this_list = digest("scopes", request.prefix)
    after = position_of(request.page_token, this_list)
    registered = await parts.scopes.all()
    ahead = [(path, p) for p, path in registered.items() if path > after and path.startswith(request.prefix)]
    heapq.heapify(ahead)
    response = listing_pb2.ListScopesResponse()
    while ahead:
        path, partition = heapq.heappop(ahead)
        try:
            records = await parts.store.read_one(("HLEN", PartitionKeys(partition).records))
        except ResponseError:
            continue  # What stands there is not of the kind that holds records.
        if records and len(response.scopes) == size:
            response.next_page_token = page_token(this_list, response.scopes[-1].path)
            break
        if records:
            response.scopes.add(path=path, records=records)
    return response
