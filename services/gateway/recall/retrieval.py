"""What Activate, Recall and RecallWithContext share: what they read beforehand, plan, ledger entry, texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import from_ms
from remembrancer.model.ids import RetrievalRef
from remembrancer.model.speakers import candidates
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Read, fields_at
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from services.gateway.recall.assembly import Texts
from services.gateway.recall.plan import exposed, plan_recall
from services.gateway.search.searcher import Found
from services.gateway.shared.fragmentation import fragmentation
from services.gateway.shared.idempotency import FirstAnswer, Idempotency
from services.gateway.shared.parts import Parts


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The partition at the moment the call was validated.

    `speakers` are those known ones that the query mentions, `first` is the first answer to the same request, `extra`
    what else was read.
    """

    now_ms: int
    head: str
    ever_written: bool
    speakers: list[str]
    first: FirstAnswer | None
    extra: list[Any]

    @property
    def at(self) -> timestamp_pb2.Timestamp:
        """The moment."""
        return from_ms(self.now_ms)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One retrieval that may go on.

    `texts` are those of its request, for their volume; `project` is what `@auto` was resolved to, `warnings` are those
    that are known before the search.
    """

    ref: RetrievalRef
    caller: str
    origin: session_pb2.RetrievalOrigin.ValueType
    scope: str
    partition: PartitionState
    texts: Sequence[str]
    as_of: timestamp_pb2.Timestamp
    mode: recall_pb2.RecallMode.ValueType
    evidence: recall_pb2.EvidenceMode.ValueType
    project: str | None
    warnings: Sequence[common_pb2.Warning]


async def read_partition_state(
    parts: Parts, keys: PartitionKeys, query: str, idempotency: Idempotency, extra: Sequence[Read] = ()
) -> PartitionState:
    """Read the partition and `extra` in one round trip. Errors: RequestIdReused, StoreUnavailable."""
    names = candidates(query)
    snapshot = await parts.store.read(
        ("HMGET", keys.meta, "head", "n"), ("HMGET", keys.speakers, *names), *extra, *idempotency.reads()
    )
    (head, n), known, *rest = snapshot.answers
    found, rest = rest[: len(extra)], rest[len(extra) :]
    return PartitionState(
        now_ms=snapshot.now_ms,
        head=head.decode() if head else "",
        ever_written=decode.last_number(n) > 0,
        speakers=[name for name, count in zip(names, known, strict=True) if count is not None],
        first=idempotency.first(rest),
        extra=found,
    )


async def plan_retrieval(parts: Parts, retrieval: Retrieval, found: Found) -> store_pb2.RecallPlan:
    """Return the plan of the answer. Errors: StoreUnavailable."""
    ever_written = retrieval.partition.ever_written
    warnings = [*retrieval.warnings, *await fragmentation(parts, retrieval.scope, ever_written)]
    plan = plan_recall(str(retrieval.ref), found, retrieval.as_of, warnings)
    plan.mode = retrieval.mode
    plan.scope_known = ever_written
    plan.evidence_mode = retrieval.evidence or recall_pb2.EVIDENCE_MODE_REFERENCES
    plan.tokens_in = await parts.tokens.count(retrieval.texts)
    if retrieval.project is not None:
        plan.resolved_project_id = retrieval.project
    return plan


def ledger_entry(retrieval: Retrieval, plan: store_pb2.RecallPlan, found: Found) -> store_pb2.Retrieval:
    """Return the retrieval as the ledger keeps it."""
    return store_pb2.Retrieval(
        caller=retrieval.caller,
        origin=retrieval.origin,
        at=retrieval.partition.at,
        exposed=exposed(plan, found.records),
    )


async def texts_for(parts: Parts, keys: PartitionKeys, plan: store_pb2.RecallPlan) -> Texts:
    """Return the records of a plan as they are now."""
    named = [hit.n for hit in plan.hits] + [step.source for hit in plan.hits for step in hit.path]
    ns = sorted({*named, *(entity.n for entity in plan.entities), *(each.n for each in plan.procedures)})
    snapshot = await parts.store.read(fields_at(keys.records, ns), fields_at(keys.learned, ns))
    records, learned = snapshot.answers
    return Texts(
        {n: record for n, record in decode.records(ns, records).items() if not record.suppressed},
        {n: decode.learned(raw) for n, raw in zip(ns, learned, strict=True)},
    )
