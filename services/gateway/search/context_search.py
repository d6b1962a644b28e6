"""The search of RecallWithContext: gate and exclusion take no depth, and depth does not depend on `limit`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model import fusion
from remembrancer.model.duplicates import NearDuplicates
from remembrancer.model.merge import Exclusion, gated
from services.gateway.requests.limits import TOP_K_MAX
from services.gateway.search.searcher import Found, Question, Responses, Searcher, depth_of

DEEPENING: Final = 4
"""Each further search is so many times deeper, when too much was excluded."""

ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of the candidates: `least` relevance to pass the gate, `min_score` to pass at all."""

    limit: int
    least: float
    min_score: float | None
    exclusion: Exclusion


@dataclass(frozen=True, slots=True)
class InContext:
    """What was found; whether only shared words let it in; whether the query could not be embedded."""

    found: Found
    gate_fallback: bool = False
    degraded: bool = False


async def search_in_context(searcher: Searcher, question: Question, wanted: Wanted, seconds_left: float) -> InContext:
    """Return the memories to be shown within the call's time.

    Errors: TiersUnavailable, StoreUnavailable, Overloaded.
    """
    if not wanted.limit:
        return InContext(Found())
    loop = asyncio.get_running_loop()
    end = loop.time() + searcher.budget(seconds_left)
    async with searcher.passed(question, seconds_left):
        return await _search(searcher, question, wanted, end)


async def _search(searcher: Searcher, question: Question, wanted: Wanted, end: float) -> InContext:
    loop = asyncio.get_running_loop()
    encoded = await searcher.encode(question, end - loop.time())
    deeper = replace(question, top_k=TOP_K_MAX)
    for last in [*[False] * (ROUNDS - 1), True]:
        found = Found()
        responses = await searcher.ask(deeper, encoded, end - loop.time(), found)
        candidates = await searcher.gather(deeper, encoded, responses, found)
        kept = [c for c in candidates.direct if _shown(c.n, found, wanted.exclusion)]
        if last or len(kept) >= TOP_K_MAX or _exhausted(responses, deeper):
            break
        deeper = replace(deeper, top_k=DEEPENING * deeper.top_k)
    if question.recent:
        found.direct = sorted(kept, key=lambda c: -c.n)[: wanted.limit]
        found.more_available = len(kept) > wanted.limit
        return InContext(found)
    passed, fallback = gated(kept, lambda c: c.relevance, lambda c: c.lexical, wanted.least, wanted.min_score)
    seen, statement = NearDuplicates[fusion.Fused](), candidates.statement
    direct, cut = fusion.near_duplicates_last(passed, wanted.limit, seen, statement)
    found.direct = fusion.by_score(direct)
    found.more_available = bool(cut)
    linked = [c for c in candidates.linked if _shown(c.n, found, wanted.exclusion)]
    floor = wanted.min_score if fallback else wanted.least
    found.associated = fusion.by_score(fusion.associated(linked, {c.n for c in direct}, floor, seen, statement))
    return InContext(found, fallback, degraded=not encoded.model_id)


def _shown(n: int, found: Found, exclusion: Exclusion) -> bool:
    record = found.records[n]
    return record.kind == store_pb2.RECORD_KIND_EPISODE or not exclusion.excludes(record.content)


def _exhausted(responses: Responses, question: Question) -> bool:
    return all(len(response.direct) < depth_of(question) for _, response in responses)
