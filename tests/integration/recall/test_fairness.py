"""Many calls of one tenant, few of another."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.client import Client, ClientError, memory, tenant
from services.gateway.settings import GatewaySettings
from tests.service import Outage

FLOOD = 100


def test_f12_b17_a_flood_of_one_tenant_leaves_another_its_turn(client: Client, scope: str) -> None:
    loud, quiet = tenant(f"{scope}-loud"), tenant(f"{scope}-quiet")
    for where in (loud, quiet):
        client.remember([memory("fact", f"Item {n} lies on shelf {n * 3}.") for n in range(20)], scope=where)

    def flood(number: int) -> list[tuple[str, float]]:
        outcomes = []
        for _ in range(3):
            began = time.monotonic()
            try:
                client.recall(f"what lies on shelf {number}?", scope=loud, mode="deep", timeout=60)
            except ClientError as error:
                outcomes.append((error.reason, time.monotonic() - began))
            else:
                outcomes.append(("OK", time.monotonic() - began))
        return outcomes

    def quiet_recall() -> float:
        began = time.monotonic()
        client.recall("what lies on shelf 9?", scope=quiet, mode="deep", timeout=60)
        return time.monotonic() - began

    with ThreadPoolExecutor(FLOOD) as pool:
        calls = [pool.submit(flood, number) for number in range(FLOOD)]
        quiet_recall()  # Calls that arrive together are taken in one by one: this one comes after all of them.
        took = []
        while not all(call.done() for call in calls):
            took.append(quiet_recall())
    outcomes = [outcome for call in calls for outcome in call.result()]
    assert {outcome for outcome, _ in outcomes} <= {"OK", "OVERLOADED"}
    slowest = max(seconds for _, seconds in outcomes)
    # In one queue with the flood it would wait as long as those.
    assert statistics.median(took) < slowest / 3


@pytest.mark.parametrize("role", [Role.ENCODER])
def test_f11_a_stalled_encoder_holds_up_no_session_check(
    client: Client, scope: str, frozen: Outage, role: Role
) -> None:
    opened = client.activate("check", "checks", scope=scope)

    def recall() -> bool:
        answer = client.recall("anything", scope=scope, session_id=opened.session_id, timeout=5)
        return answer.HasField("active_tier_error")

    with frozen(role), ThreadPoolExecutor(50) as pool:
        stalled = [pool.submit(recall) for _ in range(50)]
        took = []
        for _ in range(20):
            began = time.monotonic()
            client.get_session(opened.session_id, scope=scope)
            took.append(time.monotonic() - began)
        assert not any(call.done() for call in stalled[:10])
        assert sorted(took)[-2] < 0.5
        assert all(call.result() for call in stalled)


def test_who_waited_in_the_queue_of_a_stalled_tier_is_told_of_the_queue(
    client: Client, scope: str, frozen: Outage
) -> None:
    where = tenant(scope)
    client.remember([memory("fact", "The shelf is full.")], scope=where)

    def recall(_: int) -> str:
        try:
            client.recall("what is full?", scope=where, timeout=2)
        except ClientError as error:
            return error.reason
        return "OK"

    at_once = GatewaySettings().partition_searches
    with frozen(Role.ACTIVE), ThreadPoolExecutor(2 * at_once) as pool:
        reasons = Counter(pool.map(recall, range(2 * at_once)))
    assert reasons.keys() <= {"TIERS_UNAVAILABLE", "OVERLOADED", "DEADLINE", ""}
    assert 0 < reasons["TIERS_UNAVAILABLE"] <= at_once
