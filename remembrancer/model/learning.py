"""What accepted feedback teaches: absolute values derived from the rows that count.

Every function replaces the effect of an earlier row on the same (retrieval, target) by that of the new one, and lists
are kept in the order of the rows' own times, so the values are the same after any replay and in any order. Nothing here
can admit an irrelevant memory: it feeds the bonus that orders hits, and the graph's used-together edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Final, TypeAlias

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import moment
from remembrancer.model.ids import number_of
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2

PAIRED: Final = 12
"""Memories of one retrieval that are linked with each other, in exposure order: at most 66 edges a retrieval."""

EDGES_KEPT: Final = 256
"""Used-together edges kept per record; after 256 newer ones an edge weighs next to nothing."""

USES_KEPT: Final = 16
"""Uses of a procedure that are kept; three are shown."""

Pair: TypeAlias = tuple[int, int]
"""Two records, the lower N first."""

_MEMORY_COUNTER: Final = {
    session_pb2.MEMORY_EFFECT_HELPED: "helped",
    session_pb2.MEMORY_EFFECT_NO_EFFECT: "no_effect",
    session_pb2.MEMORY_EFFECT_HARMED: "harmed",
}
_PROCEDURE_COUNTER: Final = {
    recall_pb2.PROCEDURE_EFFECT_HELPED: "helped",
    recall_pb2.PROCEDURE_EFFECT_NO_EFFECT: "no_effect",
    recall_pb2.PROCEDURE_EFFECT_HARMED: "harmed",
    recall_pb2.PROCEDURE_EFFECT_UNKNOWN: "unknown",
}


def learn_memory(learned: store_pb2.Learned, before: store_pb2.FeedbackRow | None, after: store_pb2.FeedbackRow) -> int:
    """Replace the effect of `before` by that of `after` in `learned`; return by how much its balance moved.

    The balance is helped minus harmed.
    """
    balance = learned.helped - learned.harmed
    if before is not None:
        _count(learned, _memory_counter(before.memory), -1)
    _count(learned, _memory_counter(after.memory), 1)
    return learned.helped - learned.harmed - balance


def learn_procedure(
    learned: store_pb2.Learned,
    before: store_pb2.FeedbackRow | None,
    after: store_pb2.FeedbackRow,
    retrieval_id: str,
    session_id: str,
    outcome: store_pb2.SessionOutcome | None,
) -> None:
    """Replace the effect of `before` by that of `after` in a procedure's tallies and uses.

    `session_id` is "" for a stateless retrieval; `outcome` is that of the session, None while it has none.
    """
    if before is not None:
        _count(learned, _procedure_counter(before.procedure), -1)
    _count(learned, _procedure_counter(after.procedure), 1)
    uses = [use for use in learned.uses if use.retrieval_id != retrieval_id]
    if after.procedure.assessment == session_pb2.PROCEDURE_ASSESSMENT_USED:
        use = store_pb2.ProcedureUse(
            retrieval_id=retrieval_id,
            session_id=session_id,
            effect=after.procedure.effect,
            contribution=after.procedure.contribution,
            outcome=common_pb2.OUTCOME_UNKNOWN,
            at=after.at,
        )
        if outcome is not None:
            _settle(use, outcome)
        uses.append(use)
    uses.sort(key=lambda use: (*moment(use.at), use.retrieval_id))
    del learned.uses[:]
    learned.uses.extend(uses[-USES_KEPT:])


def settle_uses(learned: store_pb2.Learned, session_id: str, outcome: store_pb2.SessionOutcome) -> bool:
    """Fill the outcome of a session into the uses it made; return whether it made any."""
    own = [use for use in learned.uses if use.session_id == session_id]
    for use in own:
        _settle(use, outcome)
    return bool(own)


def used_together(
    exposed: Iterable[str], latest: Mapping[str, store_pb2.FeedbackRow]
) -> dict[Pair, timestamp_pb2.Timestamp]:
    """Return the pairs of memories of one retrieval that were USED without harm, each with its later row's time."""
    used = [target for target in exposed if target in latest and _links(latest[target])][:PAIRED]
    at = {number_of(target): latest[target].at for target in used}
    return {(low, high): max(at[low], at[high], key=moment) for low, high in combinations(sorted(at), 2)}


def link(learned: store_pb2.Learned, other: int, retrieval_id: str, at: timestamp_pb2.Timestamp) -> None:
    """Put one used-together edge into the record with the lower N, in the place of one of the same retrieval."""
    edges = _without(learned, other, retrieval_id)
    edges.append(store_pb2.UsedTogether(other=other, retrieval_id=retrieval_id, at=at))
    edges.sort(key=lambda edge: (*moment(edge.at), edge.retrieval_id, edge.other))
    del learned.used_together[:]
    learned.used_together.extend(edges[-EDGES_KEPT:])


def unlink(learned: store_pb2.Learned, other: int, retrieval_id: str) -> None:
    """Take back what `link` put in."""
    edges = _without(learned, other, retrieval_id)
    del learned.used_together[:]
    learned.used_together.extend(edges)


def _without(learned: store_pb2.Learned, other: int, retrieval_id: str) -> list[store_pb2.UsedTogether]:
    return [edge for edge in learned.used_together if (edge.other, edge.retrieval_id) != (other, retrieval_id)]


def _settle(use: store_pb2.ProcedureUse, outcome: store_pb2.SessionOutcome) -> None:
    use.outcome = outcome.outcome
    use.outcome_summary = outcome.outcome_summary


def _links(row: store_pb2.FeedbackRow) -> bool:
    memory = row.memory
    return (
        row.WhichOneof("target") == "memory"
        and memory.assessment == session_pb2.MEMORY_ASSESSMENT_USED
        and memory.effect != session_pb2.MEMORY_EFFECT_HARMED
    )


def _memory_counter(entry: session_pb2.MemoryFeedback) -> str | None:
    if entry.assessment == session_pb2.MEMORY_ASSESSMENT_USED:
        return _MEMORY_COUNTER[entry.effect]
    return "not_used" if entry.assessment == session_pb2.MEMORY_ASSESSMENT_NOT_USED else None


def _procedure_counter(entry: session_pb2.ProcedureFeedback) -> str | None:
    if entry.assessment == session_pb2.PROCEDURE_ASSESSMENT_USED:
        return _PROCEDURE_COUNTER[entry.effect]
    return "not_used" if entry.assessment == session_pb2.PROCEDURE_ASSESSMENT_NOT_USED else None


def _count(learned: store_pb2.Learned, counter: str | None, by: int) -> None:
    if counter is not None:
        setattr(learned, counter, getattr(learned, counter) + by)
