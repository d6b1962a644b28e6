"""A recall sees every write that was acknowledged before it started, in both tiers."""

from __future__ import annotations

from remembrancer.cli.local.plan import Role
from remembrancer.client import Client, memory, turn
from tests.service import ACTIVE, DEEP, Outage, Session, found_by

BOTH = ["active", "deep"]


def test_a_statement_is_found_by_both_tiers_right_after_its_write(client: Client, scope: str, session: Session) -> None:
    for number in range(30):
        text = f"Locker {number} holds the spare valve {number * 7}."
        client.remember([memory("fact", text)], scope=scope)
        answer = session.recall(f"what does locker {number} hold?", "deep", require_tiers=BOTH, top_k=50)
        assert found_by(answer, text) == {ACTIVE, DEEP}


def test_a_turn_is_found_by_both_tiers_right_after_its_write(client: Client, scope: str, session: Session) -> None:
    for number in range(15):
        text = f"The password of gate {number} is on card {number * 3}."
        client.record_turns([turn(text, name="Wren", msg_id=str(number))], scope=scope)
        answer = session.recall(f"the password of gate {number}", "deep", require_tiers=BOTH, top_k=50)
        assert found_by(answer, text) == {ACTIVE, DEEP}


def test_so_it_is_after_each_worker_was_killed_and_restarted(
    client: Client, scope: str, session: Session, killed: Outage
) -> None:
    for role in (Role.ACTIVE, Role.DEEP, Role.ENCODER, Role.GATEWAY):
        before, after = f"Written before {role} went down.", f"Written after {role} came back."
        client.remember([memory("fact", before)], scope=scope)
        with killed(role):
            pass
        client.wait_connected()
        client.remember([memory("fact", after)], scope=scope)
        answer = session.recall("what was written?", "deep", require_tiers=BOTH, top_k=50)
        assert found_by(answer, before) == found_by(answer, after) == {ACTIVE, DEEP}


def test_a_worker_that_was_down_during_a_write_sees_it(
    client: Client, scope: str, session: Session, killed: Outage
) -> None:
    client.remember([memory("fact", "The first light was green.")], scope=scope)
    session.recall("light", "deep")
    with killed(Role.ACTIVE, Role.DEEP):
        client.remember([memory("fact", "The second light was amber.")], scope=scope)
    answer = session.recall("what colour was the light?", "deep", require_tiers=BOTH)
    assert found_by(answer, "The second light was amber.") == {ACTIVE, DEEP}
