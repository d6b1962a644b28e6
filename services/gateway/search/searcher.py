"""The search behind every retrieval: encode, ask the tiers side by side, fuse, cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, Final, TypeAlias

import numpy as np
from google.protobuf import struct_pb2, timestamp_pb2
from numpy.typing import NDArray

from remembrancer.internal.v1 import encoder_pb2, store_pb2, tier_pb2
from remembrancer.model import fusion
from remembrancer.model.analysis import text_key
from remembrancer.model.analysis_terms import terms_of
from remembrancer.model.calendar import Window
from remembrancer.model.clock import seconds
from remembrancer.model.dates import windows_of
from remembrancer.model.duplicates import NearDuplicates, Statement
from remembrancer.model.errors import (
    DeadlinePassed,
    EncoderUnavailable,
    Overloaded,
    RemembrancerError,
    TiersUnavailable,
)
from remembrancer.model.particulars import particulars_key, statement_key
from remembrancer.model.speakers import without
from remembrancer.model.task_context import cue, to_struct
from remembrancer.model.time_words import without_time_words
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import PartitionStore, fields_at
from remembrancer.store.reader import decode_vectors
from remembrancer.v1 import common_pb2
from services.gateway.requests.limits import TOO_LITTLE, tier_budget
from services.gateway.search.encoding import UNREADABLE_TEXT, Encoded, EncodedTexts, Encoder
from services.gateway.search.fairness import PartitionGate
from services.gateway.search.pace import Pace
from services.gateway.search.tiers import TierWorkers

PROCEDURES: Final = 3
ENTITIES: Final = 10
ENCODE_SHARE: Final = 0.4
"""Of the time for encoding and searching, the most that encoding may take."""

WAIT_SHARE: Final = 0.5
"""Of a call's time: who waited for its turn that long, and then found every tier late, met a queue and no failure."""

SPARE_DEPTH: Final = 20
"""Candidates asked for beyond twice top_k: some are erased meanwhile, some only one tier takes for a copy."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for, and where; everything is checked. `recent`: the newest records, whatever the query."""

    partition: str
    head: str
    query: str
    speakers: Sequence[str]
    context: Mapping[str, Any]
    filter: tier_pb2.Filter
    as_of: timestamp_pb2.Timestamp
    tiers: Sequence[common_pb2.Tier.ValueType]
    top_k: int
    floor: float | None
    required: Sequence[common_pb2.Tier.ValueType] = ()
    recent: bool = False


@dataclass(slots=True)
class Found:
    """What was found: `direct` and `associated` in the order of their scores; `errors` of the tiers that failed.

    `answered_at` is when the tiers' last answer came, by the event loop's clock.
    """

    direct: list[fusion.Fused] = field(default_factory=list)
    associated: list[fusion.Fused] = field(default_factory=list)
    entities: list[tier_pb2.EntityScore] = field(default_factory=list)
    procedures: list[tier_pb2.ProcedureCandidate] = field(default_factory=list)
    records: dict[int, store_pb2.Record] = field(default_factory=dict)
    learned: dict[int, store_pb2.Learned] = field(default_factory=dict)
    errors: dict[common_pb2.Tier.ValueType, RemembrancerError] = field(default_factory=dict)
    warnings: list[common_pb2.Warning] = field(default_factory=list)
    answered_at: float = 0.0
    any_live: bool = False
    more_available: bool = False


Responses: TypeAlias = Sequence[tuple[common_pb2.Tier.ValueType, tier_pb2.SearchResponse]]
"""What each tier that answered found."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may be shown, best first; `statement` gives what tells whether N is a near-duplicate of another."""

    direct: list[fusion.Fused]
    linked: list[fusion.Fused]
    statement: Callable[[int], Statement]


class Searcher:
    """Asks encoder and tiers."""

    def __init__(
        self,
        store: PartitionStore,
        encoder: Encoder,
        tiers: Mapping[common_pb2.Tier.ValueType, TierWorkers],
        gate: PartitionGate,
    ) -> None:
        """Take the store, the encoder, the workers of each tier, and the gate that searches pass."""
        self._store = store
        self._gate = gate
        self._encoder = encoder
        self._tiers = tiers
        self._rest = Pace()

    async def search(self, question: Question, seconds_left: float, *, may_fail: bool = False) -> Found:
        """Return what the asked tiers find within the call's time.

        `may_fail` lets it return with every tier in `errors`. Errors: TiersUnavailable, StoreUnavailable, Overloaded.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds_left
        async with self.passed(question, seconds_left):
            return await self._searched(question, end - loop.time(), may_fail)

    @asynccontextmanager
    async def passed(self, question: Question, seconds_left: float) -> AsyncIterator[None]:
        """Wait for the turn of the question's partition, and hold it.

        Calls that ask the deep tier, too, have places of their own: while it does not answer, they hold up no others.

        Errors: Overloaded, also in the place of TiersUnavailable where the wait left the tiers too little time.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        lane = "deep" if common_pb2.TIER_DEEP in question.tiers else "active"
        async with self._gate.passed(question.partition, lane):
            waited = loop.time() - started
            try:
                yield
            except TiersUnavailable:
                if waited < WAIT_SHARE * seconds_left:
                    raise
                raise Overloaded("too many calls about this scope were before this one") from None

    async def _searched(self, question: Question, seconds_left: float, may_fail: bool) -> Found:
        found = Found()
        budget = self.budget(seconds_left)
        loop = asyncio.get_running_loop()
        start = loop.time()
        encoded = await self.encode(question, budget)
        responses = await self.ask(question, encoded, budget - (loop.time() - start), found, may_fail=may_fail)
        await self._select(question, encoded, responses, found)
        return found

    def budget(self, seconds_left: float) -> float:
        """Return the seconds that encoder and tiers may take of those that are left for the call."""
        return tier_budget(seconds_left, self._rest.recent)

    @contextmanager
    def rest_of_call(self, found: Found) -> Iterator[None]:
        """Note how long a call takes after the tiers' answers, or took until its deadline: others reserve as much."""
        try:
            yield
        finally:
            self._rest.note(asyncio.get_running_loop().time() - found.answered_at)

    async def encode(self, question: Question, budget: float) -> EncodedTexts:
        """Return what is asked encoded, and after it the side cue if there is one, within a share of the budget.

        Nothing is encoded for the most recent memories.
        """
        if question.recent:
            return EncodedTexts("", 0, [Encoded(None, store_pb2.Analysis())])
        asked = without_time_words(question.query, question.speakers)
        inputs = [(without(asked, question.speakers), asked)]
        side = cue(dict(question.context))
        if side:
            inputs.append((side, side))
        return await self._encoder.encode(inputs, encoder_pb2.LANE_QUERY, budget * ENCODE_SHARE)

    async def ask(
        self, question: Question, encoded: EncodedTexts, seconds: float, found: Found, *, may_fail: bool = False
    ) -> Responses:
        """Return what the asked tiers answer within `seconds`; those that failed get into `found.errors`.

        Errors: TiersUnavailable, unless `may_fail`; DeadlinePassed when there was no time for any.
        """
        request = _request(question, encoded)
        unread = encoded.texts[0].vectors == b""
        found.warnings = [UNREADABLE_TEXT] if unread else []
        answers = await asyncio.gather(
            *(self._tiers[tier].search(request, seconds) for tier in question.tiers), return_exceptions=True
        )
        found.answered_at = asyncio.get_running_loop().time()
        responses: list[tuple[common_pb2.Tier.ValueType, tier_pb2.SearchResponse]] = []
        for tier, answer in zip(question.tiers, answers, strict=True):
            if isinstance(answer, tier_pb2.SearchResponse):
                responses.append((tier, answer))
                if answer.words_only and not unread:
                    found.errors[tier] = EncoderUnavailable("the query could not be embedded; searched by words only")
            elif isinstance(answer, RemembrancerError):
                found.errors[tier] = answer
            else:
                raise answer
        failed = [tier for tier in question.required if tier in found.errors]
        if seconds < TOO_LITTLE and not responses:
            raise DeadlinePassed("the deadline left no time to search")
        if failed or (not responses and not may_fail):
            raise TiersUnavailable(_unavailable(failed or question.tiers))
        return responses

    async def _select(
        self,
        question: Question,
        encoded: EncodedTexts,
        responses: Responses,
        found: Found,
    ) -> None:
        candidates = await self.gather(question, encoded, responses, found)
        fused = fusion.above(candidates.direct, question.floor)
        seen, statement = NearDuplicates[fusion.Fused](), candidates.statement
        direct, cut = fusion.near_duplicates_last(fused, question.top_k, seen, statement)
        found.more_available = any(c.relevance >= fusion.RELEVANCE_FLOOR for c in cut)
        found.direct = fusion.by_score(direct)
        found.associated = fusion.by_score(
            fusion.associated(candidates.linked, {c.n for c in direct}, question.floor, seen, statement)
        )

    async def gather(self, question: Question, encoded: EncodedTexts, responses: Responses, found: Found) -> Candidates:
        """Put the tiers' answers together and read their records into `found`; return what may be shown."""
        fused = fusion.fuse((tier, response.direct) for tier, response in responses)
        linked = fusion.fuse((tier, response.associated) for tier, response in responses)
        for tier, response in responses:
            found.any_live = found.any_live or response.any_live
            found.entities += list(response.entities)[:ENTITIES]
            found.procedures += list(response.procedures)[:PROCEDURES] if tier == common_pb2.TIER_ACTIVE else []
        ns = {c.n for c in (*fused, *linked)} | {e.n for e in found.entities} | {p.n for p in found.procedures}
        ns |= {step.source for c in linked for step in c.path}
        vectors = await self._hydrate(question.partition, sorted(ns), encoded, found)
        found.procedures = [p for p in found.procedures if p.n in found.records]

        def statement(n: int) -> Statement:
            record = found.records[n]
            at = seconds(record.occurred_at)
            counts = not record.time_uncertain and at <= seconds(question.as_of)
            text, particulars = statement_key(record.content), particulars_key(record.content)
            return Statement(text, particulars, vectors.get(n), at if counts else None)

        return Candidates(
            [c for c in fused if c.n in found.records], [c for c in linked if c.n in found.records], statement
        )

    async def _hydrate(
        self, partition: str, ns: Sequence[int], encoded: EncodedTexts, found: Found
    ) -> dict[int, NDArray[np.float32]]:
        """Read records as they are now, so that what was erased since the tiers looked is not shown.

        Returns their vectors: float32, (windows, dimension).
        """
        if not ns:
            return {}
        keys = PartitionKeys(partition)
        # A query that could not be embedded names no model.
        embedded, vectors = ns if encoded.model_id else (), keys.vectors(encoded.model_id)
        snapshot = await self._store.read(
            fields_at(keys.records, ns), fields_at(keys.learned, ns), fields_at(vectors, embedded)
        )
        records, learned, raw = snapshot.answers
        found.records = {n: record for n, record in decode.records(ns, records).items() if not record.suppressed}
        found.learned = {n: decode.learned(k) for n, k in zip(ns, learned, strict=True) if n in found.records}
        decoded = ((n, decode_vectors(windows, encoded.dimension)[0]) for n, windows in zip(embedded, raw, strict=True))
        return {n: windows for n, windows in decoded if windows is not None}


def depth_of(question: Question) -> int:
    """Return how many direct candidates each tier is asked for."""
    return 2 * question.top_k + SPARE_DEPTH


def _one_window(text: Encoded | None, dimension: int) -> bytes:
    """Return one vector for a text: the mean direction of its windows. b"" without."""
    if text is None or not text.vectors:
        return b""
    windows, _ = decode_vectors(text.vectors, dimension)
    if windows is None:
        return b""
    mean = windows.mean(axis=0)
    unit = mean / max(float(np.linalg.norm(mean)), 1e-6)
    return bytes(unit.astype("<f2").tobytes())


def _request(question: Question, encoded: EncodedTexts) -> tier_pb2.SearchRequest:
    asked = frozenset(encoded.texts[0].analysis.terms)
    query, side = encoded.texts[0], encoded.texts[1] if len(encoded.texts) > 1 else None
    return tier_pb2.SearchRequest(
        partition=question.partition,
        head=question.head,
        model_id=encoded.model_id,
        query_vector=_one_window(query, encoded.dimension),
        cue_vector=_one_window(side, encoded.dimension),
        query=query.analysis,
        cue=side.analysis if side else None,
        speakers=question.speakers,
        filter=question.filter,
        as_of=question.as_of,
        depth=depth_of(question),
        procedures=0 if question.recent else PROCEDURES,
        recent=question.recent,
        task_context=to_struct(dict(question.context)) if question.context else struct_pb2.Struct(),
        windows=[_window(window) for window in windows_of(question.query, question.as_of.ToDatetime(UTC))],
        unrelated_cosine=encoded.unrelated_cosine,
        text_key=text_key(question.query),
        time_terms=[] if question.recent else [term for term in terms_of(question.query) if term not in asked],
    )


def _window(window: Window) -> tier_pb2.TimeWindow:
    found = tier_pb2.TimeWindow()
    found.start.FromDatetime(window.start)
    found.end.FromDatetime(window.end)
    return found


def _unavailable(tiers: Sequence[common_pb2.Tier.ValueType]) -> str:
    names = ", ".join(common_pb2.Tier.Name(tier).removeprefix("TIER_").lower() for tier in tiers)
    return f"tiers that failed: {names}"
