"""No interleaving of calls, failures and restarts fools the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from remembrancer.client import Client, memory
from remembrancer.v1 import recall_pb2, session_pb2
from tests.gateway import Gateway, Service
from tests.integration.sessions.conftest import Age
from tests.integration.sessions.ledger_machine import Stage, machine

TEXTS = ["The kiln is in the yard.", "Odile fires the kiln on Mondays.", "The glaze is kept dry.", "Skerry has a pub."]
DEAD = "127.0.0.1:1"


def furnish(client: Client, scope: str) -> None:
    """Give a scope memories and a procedure."""
    client.remember([memory("fact", text) for text in TEXTS], scope=scope)
    opened = client.activate("prepare", "a procedure", scope=scope)
    client.feedback(opened.retrieval_id, remaining="not_used", coverage="complete")
    how = session_pb2.ProcedureInput(summary="Fire the kiln", steps=[recall_pb2.ProcedureStep(summary="Heat slowly")])
    client.commit(
        opened.session_id,
        scope=scope,
        final_goal="fire the kiln",
        outcome="success",
        outcome_summary="warm",
        procedure=how,
    )


def explore(
    service: Service, client: Client, age: Age, scope: str, restarts: int, examples: int, steps: int, **more: Any
) -> None:
    furnish(client, scope)
    with Gateway(service, deep_targets=DEAD) as blind:
        run_state_machine_as_test(
            machine(Stage(client, blind, age, scope, restarts)),
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
                **more,
            ),
        )


def test_no_interleaving_fools_the_ledger(service: Service, client: Client, age: Age, scope: str) -> None:
    explore(service, client, age, scope, restarts=1, examples=10, steps=40, derandomize=True, phases=[Phase.generate])


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_interleaving_fools_the_ledger_for_long(service: Service, client: Client, age: Age, scope: str) -> None:
    explore(service, client, age, scope, restarts=60, examples=300, steps=80)
