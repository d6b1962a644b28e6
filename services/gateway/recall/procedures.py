"""Procedures as they are shown."""

from __future__ import annotations

from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import record_id
from remembrancer.v1 import common_pb2, recall_pb2

SHOWN_USES: Final = 3
CAUTION: Final = "Caution: the last time that this was done, it failed."


def procedure_of(
    n: int, relevance: float, record: store_pb2.Record, learned: store_pb2.Learned | None
) -> recall_pb2.Procedure:
    """Return a procedure with its tallies, the outcome of its latest use, and a caution.

    The making is the first use. The caution stands while the last known outcome is a failure: a use whose session is
    still under way does not take it away.
    """
    body, known = record.procedure, learned or store_pb2.Learned()
    ends = [(body.outcome, body.outcome_summary), *((use.outcome, use.outcome_summary) for use in known.uses)]
    outcome, outcome_summary = ends[-1]
    last_known = next((end for end, _ in reversed(ends) if end != common_pb2.OUTCOME_UNKNOWN), outcome)
    caveats = list(body.caveats)
    if last_known == common_pb2.OUTCOME_FAILURE:
        caveats.insert(0, CAUTION)
    return recall_pb2.Procedure(
        procedure_id=record_id(record.kind, n),
        goal=body.goal,
        summary=body.summary,
        context=body.context,
        steps=[recall_pb2.ProcedureStep(summary=step) for step in body.steps],
        caveats=caveats,
        outcome=outcome,
        outcome_summary=outcome_summary,
        evidence=recall_pb2.ProcedureEvidence(
            used=known.helped + known.no_effect + known.harmed + known.unknown,
            not_used=known.not_used,
            helped=known.helped,
            no_effect=known.no_effect,
            harmed=known.harmed,
            unknown=known.unknown,
        ),
        contributions=[
            recall_pb2.ProcedureContribution(
                effect=use.effect,
                contribution=use.contribution,
                outcome=use.outcome,
                outcome_summary=use.outcome_summary,
                occurred_at=use.at,
            )
            for use in reversed(known.uses[-SHOWN_USES:])
        ],
        relevance=relevance,
    )
