"""What is damaged in the store costs itself and nothing else."""

from __future__ import annotations

import time

import pytest

from remembrancer.client import Client, FeedbackIncompleteError, NotFound, memory, memory_feedback
from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import parse_retrieval
from remembrancer.store.keys import ERASING, UNEMBEDDED, PartitionKeys, partition_of
from remembrancer.v1 import session_pb2
from tests.service import Session, Store, contents

GOOD = "The lighthouse keeper feeds the gulls at noon."
BAD = "The lighthouse keeper counts the ships at dusk."
NOISE = b"\xff\xff\xff not a record"


def test_c21_p33_a_damaged_record_is_left_out_and_the_rest_answers(
    stored: Store, client: Client, session: Session
) -> None:
    keys = PartitionKeys(partition_of(session.scope))
    written = client.remember([memory("fact", GOOD), memory("fact", BAD)], scope=session.scope).results
    assert set(contents(session.recall("lighthouse keeper", "deep"))) == {GOOD, BAD}
    damaged = written[1].memory_id.removeprefix("sch_")
    stored.hset(keys.records, damaged, NOISE)
    stored.hset(keys.learned, damaged, NOISE)
    # As if it had been written while the encoder was down: the refill meets it, and must outlive it.
    stored.sadd(keys.unembedded, damaged, "no number")
    stored.sadd(UNEMBEDDED, keys.partition)
    answer = session.recall("lighthouse keeper", "deep")
    assert contents(answer) == [GOOD]
    assert not answer.HasField("active_tier_error")
    assert not answer.HasField("deep_tier_error")
    deadline = time.monotonic() + 15
    while stored.scard(keys.unembedded):
        assert time.monotonic() < deadline, "the refill does not get past the damaged record"
        time.sleep(0.1)
    again = client.remember([memory("fact", BAD)], scope=session.scope).results[0]
    assert again.memory_id != written[1].memory_id
    assert set(contents(session.recall("lighthouse keeper"))) == {GOOD, BAD}


def test_f9_a_damaged_partition_keeps_no_other_from_being_refilled_or_erased(
    stored: Store, client: Client, session: Session
) -> None:
    fine, broken = PartitionKeys(partition_of(session.scope)), PartitionKeys("0" * 32)
    written = client.remember([memory("fact", GOOD)], scope=session.scope).results[0]
    stored.set(broken.unembedded, "no set")
    stored.hset(broken.erasures, "1", NOISE)
    stored.sadd(ERASING, broken.partition)
    stored.sadd(UNEMBEDDED, broken.partition)
    try:
        # The second time the loops have met the damaged one for sure.
        for _ in range(2):
            stored.sadd(fine.unembedded, written.memory_id.removeprefix("sch_"))
            stored.sadd(UNEMBEDDED, fine.partition)
            time.sleep(2.5)
            assert stored.scard(fine.unembedded) == 0
        assert contents(session.recall("lighthouse keeper")) == [GOOD]
    finally:
        stored.srem(ERASING, broken.partition)
        stored.srem(UNEMBEDDED, broken.partition)
        stored.delete(broken.unembedded, broken.erasures)


def ledger_of(retrieval_id: str) -> tuple[str, str]:
    """Return the key of a retrieval's ledger and its name there."""
    ref = parse_retrieval(retrieval_id)
    assert ref is not None
    return PartitionKeys(ref.partition).ledger(ref.ledger), ref.key


def test_a_record_of_an_impossible_time_is_shown_by_nobody(stored: Store, client: Client, session: Session) -> None:
    written = client.remember([memory("fact", GOOD), memory("fact", BAD)], scope=session.scope).results
    keys, name = PartitionKeys(partition_of(session.scope)), written[1].memory_id.removeprefix("sch_")
    record = store_pb2.Record.FromString(stored.hget(keys.records, name) or b"")
    record.occurred_at.seconds = 2**60
    stored.hset(keys.records, name, record.SerializeToString())
    assert contents(session.recall("lighthouse keeper", "deep")) == [GOOD]
    assert [shown.content for shown in client.list_memories(scope=session.scope).memories] == [GOOD]


def test_a_damaged_log_of_feedback_is_as_if_none_had_been_given(
    stored: Store, client: Client, session: Session
) -> None:
    client.remember([memory("fact", GOOD)], scope=session.scope)
    session.cover(session.opening.retrieval_id)
    retrieval = session.recall("lighthouse keeper").retrieval_id
    client.feedback(retrieval, memory_feedback=[memory_feedback("sch_1", "used")])
    key, name = ledger_of(retrieval)
    stored.hset(key, f"f:{name}", NOISE)
    assert [list(r.uncovered.outstanding) for r in session.ledger().retrievals if not r.covered] == [["sch_1"]]
    assert session.cover(retrieval).outstanding == []
    assert session.commit().state == session_pb2.SESSION_STATE_COMMITTED


def test_a_damaged_retrieval_keeps_its_session_open_and_takes_no_other_with_it(
    stored: Store, client: Client, session: Session
) -> None:
    client.remember([memory("fact", GOOD)], scope=session.scope)
    session.cover(session.opening.retrieval_id)
    damaged, whole = (session.recall("lighthouse keeper").retrieval_id for _ in range(2))
    key, name = ledger_of(damaged)
    stored.hset(key, f"r:{name}", NOISE)
    with pytest.raises(NotFound):
        session.cover(damaged)
    assert session.cover(whole).outstanding == []
    with pytest.raises(FeedbackIncompleteError) as refused:
        session.commit()
    assert [missing.retrieval_id for missing in refused.value.feedback_incomplete.retrievals] == [damaged]
    assert session.ledger().uncovered_count == 1
    abandoned = client.abandon_session(session.session_id, scope=session.scope)
    assert abandoned.state == session_pb2.SESSION_STATE_ABANDONED


def test_what_was_learned_and_is_damaged_is_left_out_of_an_export(stored: Store, client: Client, scope: str) -> None:
    client.remember([memory("fact", GOOD), memory("fact", BAD)], scope=scope)
    stored.hset(PartitionKeys(partition_of(scope)).learned, "1", NOISE)
    exported = [record.memory.content for part in client.export_scope(scope=scope) for record in part.batch.records]
    assert exported == [GOOD, BAD]


def test_what_cannot_be_read_does_not_keep_erased_words(stored: Store, client: Client, session: Session) -> None:
    client.remember([memory("fact", GOOD)], scope=session.scope)
    retrieval = session.recall("lighthouse keeper", request_id="again").retrieval_id
    keys, (ledger, name) = PartitionKeys(partition_of(session.scope)), ledger_of(retrieval)
    client.feedback(retrieval, memory_feedback=[memory_feedback("sch_1", "unassessable", reason=GOOD)])
    assert GOOD.encode() in stored.hget(ledger, f"f:{name}")
    stored.hset(ledger, f"f:{name}", NOISE + GOOD.encode())
    (answer,) = stored.scan_iter(keys.all_like("req", "Recall"))
    assert GOOD.encode() not in stored.hget(answer, "answer")  # It has no words to be erased.
    assert client.forget(scope=session.scope, memory_id="sch_1").forgotten == 1
    assert GOOD.encode() not in stored.hget(ledger, f"f:{name}")
