"""What Activate and Recall share: the look at the partition beforehand, and texts for a plan afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.speakers import candidates
from remembrancer.store import decode
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Read, fields_at
from services.gateway.recall.assembly import Texts
from services.gateway.shared.parts import Parts
from services.gateway.shared.replay import RequestMemory, Seen


@dataclass(frozen=True, slots=True)
class Look:
    """The partition at the moment the call was validated."""

    now_ms: int
    head: str
    ever_written: bool
    speakers: list[str]
    seen: Seen | None
    extra: list[Any]


async def look(
    parts: Parts, keys: PartitionKeys, query: str, memory: RequestMemory, extra: Sequence[Read] = ()
) -> Look:
    """Read head, known speakers that the query mentions, the replay memory, and `extra`, in one round trip."""
    names = candidates(query)
    snapshot = await parts.store.read(
        ("HMGET", keys.meta, "head", "n"), ("HMGET", keys.speakers, *names), *extra, *memory.reads()
    )
    (head, n), known, *rest = snapshot.answers
    found, rest = rest[: len(extra)], rest[len(extra) :]
    return Look(
        now_ms=snapshot.now_ms,
        head=head.decode() if head else "",
        ever_written=int(n or 0) > 0,
        speakers=[name for name, count in zip(names, known, strict=True) if count is not None],
        seen=memory.seen(rest),
        extra=found,
    )


async def texts_for(parts: Parts, keys: PartitionKeys, plan: store_pb2.RecallPlan) -> Texts:
    """Return the records of a plan as they are now."""
    ns = sorted({hit.n for hit in plan.hits} | {e.n for e in plan.entities} | {p.n for p in plan.procedures})
    snapshot = await parts.store.read(fields_at(keys.records, ns), fields_at(keys.learned, ns))
    records, learned = snapshot.answers
    return Texts(
        {n: record for n, record in decode.records(ns, records).items() if not record.suppressed},
        {n: decode.learned(raw) for n, raw in zip(ns, learned, strict=True)},
    )
