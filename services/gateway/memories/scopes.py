"""GetScope and ListScopes."""

from __future__ import annotations

from typing import Final

from remembrancer.model.scope import SCOPE_LENGTH, parse_scope
from remembrancer.model.text import bounded
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys, digest
from remembrancer.store.live import tally
from remembrancer.store.tally import Counted
from remembrancer.v1 import common_pb2, listing_pb2
from services.gateway.memories.list_memories import PAGE_DEFAULT, PAGE_MAX
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import whole_number
from services.gateway.requests.paging import page_token, position_of
from services.gateway.shared.parts import Parts

CHUNK: Final = 200
"""Scopes asked for their size at a time."""

ALL_SCOPES: Final = ""
"""What the lists of scopes pass the gate as, together; no partition has this name."""

LOOKED_AT: Final = 10_000
"""Scopes asked for one page at most; where so many are empty, a page has less than it could."""

ACTIVE: Final = {
    common_pb2.MEMORY_KIND_OBSERVATION: Counted.OBSERVATION,
    common_pb2.MEMORY_KIND_TURN: Counted.TURN,
    common_pb2.MEMORY_KIND_EPISODE: Counted.EPISODE,
}


async def get_scope(parts: Parts, request: listing_pb2.GetScopeRequest, call: Call) -> listing_pb2.GetScopeResponse:
    """Count what a scope holds."""
    del call
    scope = parse_scope(request.scope)
    keys = PartitionKeys.of(scope.path)
    model_id = await parts.models.current()
    hashes = [keys.records, keys.learned, *([keys.vectors(model_id)] if model_id else [])]
    async with parts.list_gate.passed(keys.partition):
        n, waiting = (await parts.store.read(("HGET", keys.meta, "n"), ("SCARD", keys.unembedded))).answers
        last, counts = decode.last_number(n), await tally(parts.store, keys)
        size = await parts.store.size(hashes)
    return listing_pb2.GetScopeResponse(
        path=scope.path,
        scope_known=last > 0,
        active=[listing_pb2.KindCount(kind=kind, count=counts[as_]) for kind, as_ in ACTIVE.items() if counts[as_]],
        stale=counts[Counted.STALE],
        suppressed=counts[Counted.SUPPRESSED],
        procedures=counts[Counted.PROCEDURE],
        unembedded=waiting,
        stored_bytes=size,
        last_number=last,
    )


async def list_scopes(
    parts: Parts, request: listing_pb2.ListScopesRequest, call: Call
) -> listing_pb2.ListScopesResponse:
    """Return one page of the scopes that hold records."""
    del call
    bounded("prefix", request.prefix, SCOPE_LENGTH)
    size = whole_number("page_size", request.page_size or None, PAGE_DEFAULT, 1, PAGE_MAX)
    this_list = digest("scopes", request.prefix)
    after = position_of(request.page_token, this_list)
    async with parts.list_gate.passed(ALL_SCOPES):
        return await _page(parts, request.prefix, after, size, this_list)


async def _page(parts: Parts, prefix: str, after: str, size: int, this_list: str) -> listing_pb2.ListScopesResponse:
    registered = await parts.scopes.all()
    ahead = sorted((path, p) for p, path in registered.items() if path > after and path.startswith(prefix))
    response, looked = listing_pb2.ListScopesResponse(), 0
    while looked < min(len(ahead), LOOKED_AT):
        # As many as the page lacks; many more where most are empty.
        upto = looked + min(CHUNK, max(size + 1 - len(response.scopes), looked))
        some = ahead[looked:upto]
        for (path, _), records in zip(some, await parts.scopes.sizes([p for _, p in some]), strict=True):
            if records and len(response.scopes) == size:
                response.next_page_token = page_token(this_list, response.scopes[-1].path)
                return response
            if records:
                response.scopes.add(path=path, records=records)
        looked += len(some)
    if looked < len(ahead):
        response.next_page_token = page_token(this_list, ahead[looked - 1][0])
    return response
