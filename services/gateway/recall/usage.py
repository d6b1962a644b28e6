"""The texts of an answer, for their volume in tokens."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf import json_format

from remembrancer.model.task_context import texts_of
from remembrancer.v1 import recall_pb2


def texts_out(response: recall_pb2.RecallResponse) -> Iterator[str]:
    """Yield every text of an answer once; the probable answer repeats one of them."""
    for hit in (*response.hits.observations, *response.hits.turns):
        yield hit.content
        yield from hit.why
    yield from (entity.label for entity in response.hits.entities)
    for procedure in response.procedures:
        yield from _of_procedure(procedure)
    yield from (evidence.content for evidence in response.evidence)
    yield response.timeline


def _of_procedure(procedure: recall_pb2.Procedure) -> Iterator[str]:
    yield from (procedure.goal, procedure.summary, procedure.outcome_summary)
    yield from texts_of(json_format.MessageToDict(procedure.context))
    yield from (step.summary for step in procedure.steps)
    yield from procedure.caveats
    for use in procedure.contributions:
        yield from (use.contribution, use.outcome_summary)
