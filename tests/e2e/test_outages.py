"""Each part down or frozen: what still works, and how the answer says what does not."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.client import Client, ClientError, Unavailable, memory, reason_of
from remembrancer.v1 import session_pb2
from tests.service import ACTIVE, DEEP, OpenSession, Outage, Session, contents, found_by, hits

TEXT = "The observatory dome turns once an hour."
QUESTION = "how often does the dome turn?"


@pytest.fixture
def session(client: Client, scope: str, open_session: OpenSession) -> Session:
    client.remember([memory("fact", TEXT)], scope=scope)
    opened = open_session()
    assert contents(opened.recall(QUESTION, "deep")) == [TEXT]
    return opened


def test_p51_deep_down(session: Session, killed: Outage) -> None:
    with killed(Role.DEEP):
        answer = session.recall(QUESTION, "deep")
        assert contents(answer) == [TEXT]
        assert reason_of(answer.deep_tier_error) == "TIER_UNREACHABLE"
        assert not answer.HasField("active_tier_error")
        # Not asked, so not reported.
        assert not session.recall(QUESTION, "active").HasField("deep_tier_error")
        with pytest.raises(Unavailable) as refused:
            session.recall(QUESTION, "deep", require_tiers=["deep"])
        assert refused.value.reason == "TIERS_UNAVAILABLE"
        assert refused.value.retry_after is not None
    assert not session.recall(QUESTION, "deep").HasField("deep_tier_error")


def test_active_down(session: Session, open_session: OpenSession, killed: Outage) -> None:
    with killed(Role.ACTIVE):
        answer = session.recall(QUESTION, "deep")
        assert found_by(answer, TEXT) == {DEEP}
        assert reason_of(answer.active_tier_error) == "TIER_UNREACHABLE"
        assert not answer.HasField("deep_tier_error")
        with pytest.raises(Unavailable):
            session.recall(QUESTION, "active")
        opened = open_session()
        assert opened.session_id
        assert reason_of(opened.opening.active_tier_error) == "TIER_UNREACHABLE"
    assert found_by(session.recall(QUESTION), TEXT) == {ACTIVE}


def test_both_down_is_unavailable_and_leaves_nothing_to_cover(session: Session, killed: Outage) -> None:
    before = session.ledger().retrieval_count
    with killed(Role.ACTIVE, Role.DEEP):
        for mode in ("active", "deep"):
            with pytest.raises(Unavailable) as refused:
                session.recall(QUESTION, mode)
            assert refused.value.reason == "TIERS_UNAVAILABLE"
            assert refused.value.retry_after is not None
        assert session.ledger().retrieval_count == before


def test_b8_every_answer_of_every_session_says_so(session: Session, open_session: OpenSession, killed: Outage) -> None:
    other = open_session()
    with killed(Role.DEEP):
        for _ in range(3):
            for one in (session, other):
                assert one.recall(QUESTION, "deep").HasField("deep_tier_error")


@pytest.mark.parametrize("role", [Role.ACTIVE, Role.DEEP])
def test_a_frozen_tier_is_late_and_the_other_one_answers_within_the_deadline(
    session: Session, frozen: Outage, role: Role
) -> None:
    with frozen(role):
        began = time.monotonic()
        answer = session.recall(QUESTION, "deep", timeout=2.0)
        assert time.monotonic() - began < 2.0
        error = answer.active_tier_error if role is Role.ACTIVE else answer.deep_tier_error
        assert reason_of(error) == "TIER_LATE"
        assert contents(answer) == [TEXT]
        # It still must be covered.
        assert session.ledger().retrievals[-1].retrieval_id == answer.retrieval_id


def test_f8_a_frozen_deep_tier_does_not_slow_active_recalls(session: Session, frozen: Outage) -> None:
    with frozen(Role.DEEP), ThreadPoolExecutor(4) as pool:
        slow = [pool.submit(session.recall, QUESTION, "deep", timeout=3.0) for _ in range(3)]
        began = time.monotonic()
        for _ in range(10):
            session.recall(QUESTION, "active", timeout=1.0)
        assert time.monotonic() - began < 2.0
        assert all(reason_of(call.result().deep_tier_error) == "TIER_LATE" for call in slow)


@pytest.mark.parametrize("role", [Role.ENCODER, Role.ACTIVE, Role.DEEP])
def test_t16_a_frozen_worker_soon_costs_nothing_and_serves_again_when_it_runs(
    client: Client, scope: str, session: Session, frozen: Outage, role: Role
) -> None:
    def took(count: int) -> float:
        spent = []
        for _ in range(count):
            began = time.monotonic()
            session.recall(QUESTION, "deep")
            spent.append(time.monotonic() - began)
        return statistics.median(spent)

    healthy = took(15)
    with frozen(role):
        for _ in range(5):
            assert session.recall(QUESTION, "deep").hits.observations[0].content == TEXT
        assert took(15) <= 2 * healthy + 0.01
        began = time.monotonic()
        written = client.remember([memory("fact", f"Written while {role} is frozen.")], scope=scope).results[0]
        assert time.monotonic() - began < 1.0
        assert written.embedded == (role is not Role.ENCODER)
    answer = session.recall(QUESTION, "deep")
    assert not answer.HasField("active_tier_error")
    assert not answer.HasField("deep_tier_error")


def test_t16_callers_of_a_frozen_tier_hold_up_no_caller_of_the_other_one(session: Session, frozen: Outage) -> None:
    with frozen(Role.DEEP), ThreadPoolExecutor(40) as pool:
        slow = [pool.submit(session.recall, QUESTION, "deep") for _ in range(40)]
        time.sleep(0.1)
        began = time.monotonic()
        assert contents(session.recall(QUESTION, "active")) == [TEXT]
        assert time.monotonic() - began < 1.0
        assert {contents(call.result())[0] for call in slow} == {TEXT}


def test_t17_a_short_deadline_gets_what_the_other_tier_found(session: Session, frozen: Outage) -> None:
    def took(deadline: float) -> float:
        began = time.monotonic()
        assert contents(session.recall(QUESTION, "deep", timeout=deadline)) == [TEXT]
        return time.monotonic() - began

    with ThreadPoolExecutor(6) as pool:
        # 40 ms on a quiet machine; on a busy one the deadlines are longer by as much.
        slowness = max(1.0, max(pool.map(took, [5.0] * 36)) / 0.04)
        with frozen(Role.DEEP):
            list(pool.map(took, [slowness * deadline for deadline in (0.15, 0.2, 0.3) * 12]))


def test_f3_encoder_down(client: Client, scope: str, session: Session, killed: Outage) -> None:
    hidden = "Flour, water and salt rise overnight on the sill."
    with killed(Role.ENCODER):
        written = client.remember([memory("fact", hidden)], scope=scope)
        assert not written.results[0].embedded
        assert written.results[0].memory_id
        # F3: asked before, so its vector might be cached; it is reported all the same.
        for query in (QUESTION, "flour and salt"):
            answer = session.recall(query, "deep")
            assert reason_of(answer.active_tier_error) == "ENCODER_UNAVAILABLE"
            assert reason_of(answer.deep_tier_error) == "ENCODER_UNAVAILABLE"
        assert found_by(answer, hidden) == {ACTIVE, DEEP}
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        answer = session.recall("how is bread made?", "deep", require_tiers=["active", "deep"], min_score=0.2)
        if found_by(answer, hidden):
            break
        time.sleep(0.2)
    assert found_by(answer, hidden) == {ACTIVE, DEEP}
    # The write again is the same memory, and now it has its vector.
    again = client.remember([memory("fact", hidden)], scope=scope).results[0]
    assert again.memory_id == written.results[0].memory_id
    assert again.embedded


def test_encoder_frozen(client: Client, scope: str, session: Session, frozen: Outage) -> None:
    with frozen(Role.ENCODER):
        began = time.monotonic()
        answer = session.recall("dome", timeout=3.0)
        assert time.monotonic() - began < 3.0
        assert reason_of(answer.active_tier_error) == "ENCODER_UNAVAILABLE"
        assert contents(answer) == [TEXT]
        written = client.remember([memory("fact", "Written while it is frozen.")], scope=scope, timeout=4)
        assert not written.results[0].embedded


def test_store_down(client: Client, scope: str, session: Session, killed: Outage) -> None:
    with killed(Role.STORE):
        for call in (
            lambda: session.recall(QUESTION, "deep"),
            lambda: client.remember([memory("fact", "lost?")], scope=scope, timeout=10),
            session.ledger,
            session.commit,
        ):
            with pytest.raises(ClientError) as refused:
                call()
            assert refused.value.reason in ("STORE_UNAVAILABLE", "WRITE_NOT_DURABLE")
            assert isinstance(refused.value, Unavailable)
    assert contents(session.recall(QUESTION, "deep", require_tiers=["active", "deep"])) == [TEXT]


def test_store_frozen(session: Session, frozen: Outage) -> None:
    with frozen(Role.STORE):
        began = time.monotonic()
        with pytest.raises(Unavailable) as refused:
            session.recall(QUESTION, timeout=10.0)
        assert time.monotonic() - began < 8.0
        assert refused.value.reason == "STORE_UNAVAILABLE"
    assert contents(session.recall(QUESTION)) == [TEXT]


def test_what_was_acknowledged_survives_the_killed_store(
    client: Client, scope: str, session: Session, killed: Outage
) -> None:
    acknowledged: list[str] = []

    def write() -> None:
        for number in range(10_000):
            text = f"Entry {number} of the logbook."
            try:
                client.remember([memory("fact", text)], scope=scope, timeout=5)
            except ClientError:
                return
            acknowledged.append(text)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while len(acknowledged) < 20 and not writing.done():
            time.sleep(0.01)
        with killed(Role.STORE):
            writing.result(timeout=30)
    assert len(acknowledged) >= 20
    for text in acknowledged[-20:]:
        answer = session.recall(text, "deep", top_k=3, require_tiers=["active", "deep"])
        assert found_by(answer, text) == {ACTIVE, DEEP}
    assert session.ledger().state == session_pb2.SESSION_STATE_OPEN


def test_f2_no_failure_looks_like_an_empty_answer(session: Session, killed: Outage) -> None:
    def outcome(mode: str) -> tuple[str, str] | str:
        try:
            answer = session.recall("wholly unrelated words zyx", mode)
        except Unavailable as error:
            return error.reason
        errors = reason_of(answer.active_tier_error), reason_of(answer.deep_tier_error)
        assert hits(answer) or any(errors)
        return errors

    words, gone, fine = "ENCODER_UNAVAILABLE", "TIER_UNREACHABLE", ""
    for roles, active, deep in (
        ((), (fine, fine), (fine, fine)),
        ((Role.ENCODER,), (words, fine), (words, words)),
        ((Role.ACTIVE,), "TIERS_UNAVAILABLE", (gone, fine)),
        ((Role.DEEP,), (fine, fine), (fine, gone)),
        ((Role.ENCODER, Role.DEEP), (words, fine), (words, gone)),
        ((Role.ENCODER, Role.ACTIVE), "TIERS_UNAVAILABLE", (gone, words)),
    ):
        with killed(*roles):
            assert (outcome("active"), outcome("deep")) == (active, deep), roles
