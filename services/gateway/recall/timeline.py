"""The timeline of an answer: what was found, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC

from remembrancer.model.ids import number_of
from remembrancer.v1 import recall_pb2

UNCERTAIN = " (time uncertain)"


def timeline(hits: Iterable[recall_pb2.Hit]) -> str:
    """Return a line per hit, oldest first, those of one moment in the order of writing; "" without hits."""
    ordered = sorted(hits, key=lambda h: (h.occurred_at.seconds, h.occurred_at.nanos, number_of(h.memory_id)))
    return "\n".join(_line(hit) for hit in ordered)


def _line(hit: recall_pb2.Hit) -> str:
    moment = hit.occurred_at.ToDatetime(UTC).isoformat(" ", "minutes").removesuffix("+00:00")
    speaker = f"{hit.name or hit.role}: " if hit.name or hit.role else ""
    return " ".join(f"{moment}{UNCERTAIN if hit.time_uncertain else ''} {speaker}{hit.content}".splitlines())
