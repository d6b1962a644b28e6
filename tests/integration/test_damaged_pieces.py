"""One damaged piece of a partition costs itself; a key of a wrong type keeps no scope from being forgotten."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from remembrancer.client import Client, ClientError, FeedbackIncompleteError, memory, memory_feedback, turn
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.v1 import session_pb2
from tests.service import OpenSession, Session, Store, contents

GOOD = "The lighthouse keeper feeds the gulls at noon."
TURN = "The gulls of the lighthouse were loud today."
EARLIER = "The lighthouse keeper paints the door in spring."
NOISE = b"\xff\xff\xff nothing"
WORDS = (b"lighthouse", b"Adalinde", b"adalinde", b"gulls")
"""None of them may be left of a forgotten scope."""


@pytest.fixture
def keys(session: Session) -> PartitionKeys:
    return PartitionKeys(partition_of(session.scope))


@pytest.fixture
def committed(client: Client, session: Session, open_session: OpenSession) -> session_pb2.CommitResponse:
    """A scope with a record of each kind that Forget knows, a committed session, and the open one `session`."""
    client.remember([memory("fact", GOOD)], scope=session.scope)
    client.record_turns([turn(TURN, name="Adalinde", msg_id="m")], scope=session.scope)
    other = open_session(session.scope)
    other.cover(other.opening.retrieval_id)
    client.remember([memory("fact", EARLIER)], scope=session.scope, session_id=other.session_id)
    used = other.recall("lighthouse keeper", "deep", request_id="again").retrieval_id
    feedback = [memory_feedback("sch_1", "used", reason="the gulls")]
    client.feedback(used, memory_feedback=feedback, remaining="not_used", coverage="complete")
    return client.commit(
        other.session_id, scope=session.scope, final_goal="the gulls", outcome="success", outcome_summary="lighthouse"
    )


def at_each(pattern: str, damage: Callable[[Store, bytes], object]) -> Callable[[Store, PartitionKeys], None]:
    def carried_out(stored: Store, keys: PartitionKeys) -> None:
        found = list(stored.scan_iter(keys.all_like(pattern).removesuffix(":*") + "*"))
        assert found, "there is nothing to damage"
        for key in found:
            damage(stored, key)

    return carried_out


def in_each_field(stored: Store, key: bytes) -> None:
    for name in stored.hkeys(key):
        stored.hset(key, name, NOISE)
    stored.hset(key, NOISE, NOISE)


PIECES = {
    "counts": lambda stored, keys: stored.hset(keys.counts, "1", NOISE),
    "equal texts": at_each("dup", in_each_field),
    "speakers": at_each("speakers", in_each_field),
    "episodes": at_each("eps", in_each_field),
    "what was learned": at_each("learned", in_each_field),
    "vectors": at_each("vec", in_each_field),
    "callers' lists": at_each("mine", lambda stored, key: stored.zadd(key, {NOISE: 0})),
    "lists of retrievals": at_each("ret", lambda stored, key: stored.lpush(key, NOISE)),
    "uncovered retrievals": at_each("unc", lambda stored, key: stored.zadd(key, {NOISE: 0})),
}


@pytest.mark.parametrize("piece", PIECES)
def test_a_damaged_piece_costs_itself_and_keeps_no_scope_from_being_forgotten(
    stored: Store,
    client: Client,
    session: Session,
    committed: session_pb2.CommitResponse,
    keys: PartitionKeys,
    piece: str,
) -> None:
    PIECES[piece](stored, keys)
    scope = session.scope
    listed = [shown.content for shown in client.list_memories(scope=scope).memories]
    assert {GOOD, EARLIER, TURN} <= set(listed)
    assert [shown.content for shown in client.get_contents(["sch_1"], scope=scope).contents] == [GOOD]
    assert len([record for part in client.export_scope(scope=scope) for record in part.batch.records]) == len(listed)
    assert {GOOD, EARLIER, TURN} <= set(contents(session.recall("lighthouse keeper gulls", "deep")))
    assert client.remember([memory("fact", GOOD)], scope=scope).results[0].memory_id
    assert next(r.retrieval_id for r in session.ledger().retrievals) == session.opening.retrieval_id
    assert len(client.list_sessions(scope=scope).sessions) == 2
    assert client.activate("the lighthouse", "the gulls", scope=scope).session_id
    with pytest.raises(FeedbackIncompleteError) as refused:
        session.commit()
    assert refused.value.feedback_incomplete.retrievals[0].retrieval_id == session.opening.retrieval_id
    forgotten_whole(stored, client, session, keys)


KINDS = [
    "counts",
    "dup",
    "eps",
    "feed",
    "learned",
    "led",
    "rec",
    "req:Activate",
    "req:Recall",
    "ses",
    "speakers",
    "used",
    "vec",
    "wrote",
    "unembedded",
    "behind",
    "scrub",
    "idx:answers",
    "idx:commented",
    "idx:stateless",
]


SHORT = ("rec", "dup", "led", "ses", "vec")
"""Kinds of keys that the short form looks at."""


@pytest.mark.parametrize(
    "kind", [kind if kind in SHORT else pytest.param(kind, marks=pytest.mark.long) for kind in KINDS]
)
def test_a_key_of_a_wrong_type_keeps_no_scope_from_being_forgotten(
    stored: Store,
    client: Client,
    session: Session,
    committed: session_pb2.CommitResponse,
    keys: PartitionKeys,
    kind: str,
) -> None:
    client.activate("the lighthouse", "the gulls", scope=session.scope, request_id="opened")
    settled(stored, keys)
    found = list(stored.scan_iter(keys.all_like(kind).removesuffix(":*") + "*"))
    # The open session may have nothing of a kind, and the scope nothing that waits for vectors.
    ledger = committed.session_id.rpartition("_")[2]
    absent = {"used": keys.used_procedures(ledger), "unembedded": keys.unembedded, "behind": keys.behind}
    absent |= {"scrub": keys.to_scrub, "idx:stateless": keys.stateless}
    assert found or kind in absent
    for key in found or [absent[kind]]:
        stored.delete(key)
        stored.set(key, GOOD)
    forgotten_whole(stored, client, session, keys)


DERIVED = ("counts", "dup", "eps", "speakers", "learned", "wrote", "used", "unembedded", "erasures", "import")
"""Kinds of keys whose loss costs no answer."""


def test_t39_a_key_of_a_wrong_type_costs_no_read_more_than_itself(
    stored: Store, client: Client, session: Session, committed: session_pb2.CommitResponse, keys: PartitionKeys
) -> None:
    settled(stored, keys)
    scope, texts = session.scope, {GOOD, EARLIER, TURN}
    absent = (keys.unembedded, keys.erasures, keys.imported)
    for kind in DERIVED:
        found = list(stored.scan_iter(keys.all_like(kind).removesuffix(":*") + "*"))
        for key in found or [key for key in absent if key.endswith(kind)]:
            stored.delete(key)
            stored.set(key, "no " + kind)
    assert texts <= {shown.content for shown in client.list_memories(scope=scope).memories}
    exported = [record.memory for part in client.export_scope(scope=scope) for record in part.batch.records]
    assert texts <= {shown.content for shown in exported}
    assert [shown.content for shown in client.get_contents(["sch_1"], scope=scope).contents] == [GOOD]
    assert client.get_scope(scope=scope).scope_known
    assert any(listed.path == scope for listed in client.list_scopes(prefix=scope).scopes)
    assert texts <= set(contents(session.recall("lighthouse keeper gulls", "deep")))
    assert len(client.list_sessions(scope=scope).sessions) == 2
    assert session.ledger().retrievals
    assert client.activate("the lighthouse", "the gulls", scope=scope).session_id
    assert client.forget(scope=scope, memory_id="sch_1").forgotten == 1


@pytest.mark.parametrize("kind", ["rec", "meta"])
def test_t6_what_nobody_can_do_without_is_refused_as_damaged(
    stored: Store, client: Client, session: Session, keys: PartitionKeys, kind: str
) -> None:
    client.remember([memory("fact", GOOD)], scope=session.scope)
    key = keys.records if kind == "rec" else keys.meta
    stored.delete(key)
    stored.set(key, GOOD)
    calls: list[Callable[[], object]] = [
        lambda: client.remember([memory("fact", EARLIER)], scope=session.scope),
        lambda: client.get_contents(["sch_1"], scope=session.scope) if kind == "rec" else session.recall("gulls"),
        lambda: client.forget(scope=session.scope, memory_id="sch_1"),
    ]
    for call in calls:
        with pytest.raises(ClientError) as refused:
            call()
        assert refused.value.reason == "STORE_DAMAGED"
    assert stored.get(key) == GOOD.encode()


def settled(stored: Store, keys: PartitionKeys) -> None:
    """Wait until the recalls are counted, which happens behind their answers."""
    deadline = time.monotonic() + 5
    while not stored.exists(keys.counts):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def forgotten_whole(stored: Store, client: Client, session: Session, keys: PartitionKeys) -> None:
    answer = client.forget(scope=session.scope, whole_scope=True)
    assert not answer.erasing
    left = [(key, value) for key in stored.scan_iter(keys.all_like()) for value in values_of(stored, key)]
    assert [(key, value) for key, value in left if any(word in value for word in WORDS)] == []
    assert not [key for key, _ in left if b":vec:" in key]
    assert not stored.hlen(keys.records)
    again = client.activate("the lighthouse", "the gulls", scope=session.scope)
    new = client.remember([memory("fact", GOOD)], scope=session.scope).results[0].memory_id
    for mode in ("active", "deep"):
        found = client.recall("lighthouse keeper gulls", scope=session.scope, session_id=again.session_id, mode=mode)
        assert [hit.memory_id for hit in found.hits.observations] == [new]
        assert not found.hits.turns
        assert not found.HasField("active_tier_error")
        assert not found.HasField("deep_tier_error")


def values_of(stored: Store, key: bytes) -> Iterator[bytes]:
    """Yield everything that a key holds."""
    match stored.type(key):
        case b"hash":
            for name, value in stored.hgetall(key).items():
                yield name + b"=" + value
        case b"string":
            yield stored.get(key)
        case b"list":
            yield from stored.lrange(key, 0, -1)
        case b"set":
            yield from stored.smembers(key)
        case b"zset":
            yield from stored.zrange(key, 0, -1)
        case b"stream":
            yield repr(stored.xrange(key)).encode()


def test_a_ledger_that_went_with_its_scope_lets_no_commit_through(
    stored: Store, client: Client, session: Session, committed: session_pb2.CommitResponse, keys: PartitionKeys
) -> None:
    for key in stored.scan_iter(keys.all_like("led")):
        stored.delete(key)
        stored.set(key, GOOD)
    client.forget(scope=session.scope, whole_scope=True)
    with pytest.raises(FeedbackIncompleteError) as refused:
        session.commit()
    missing = refused.value.feedback_incomplete
    assert [lost.retrieval_id for lost in missing.retrievals] == [session.opening.retrieval_id]


def test_an_entry_that_names_no_retrieval_keeps_the_session_from_being_committed(
    stored: Store, session: Session, keys: PartitionKeys
) -> None:
    session.cover(session.opening.retrieval_id)
    (ledger,) = (key.rpartition(b":")[2] for key in stored.scan_iter(keys.all_like("ses")))
    stored.zadd(keys.uncovered(ledger.decode()), {NOISE: 0})
    with pytest.raises(FeedbackIncompleteError) as refused:
        session.commit()
    missing = refused.value.feedback_incomplete
    assert (list(missing.retrievals), missing.total, missing.truncated) == ([], 1, True)


def test_pages_pass_entries_that_name_nothing(
    stored: Store, client: Client, session: Session, open_session: OpenSession, keys: PartitionKeys
) -> None:
    expected = [
        session.opening.retrieval_id,
        session.recall("gulls").retrieval_id,
        session.recall("gulls").retrieval_id,
    ]
    (ledger,) = (key for key in stored.scan_iter(keys.all_like("ret")))
    for _ in range(3):
        stored.lpush(ledger, NOISE)
    stored.rpush(ledger, NOISE)
    shown, token = [], ""
    for _ in range(10):
        page = client.get_session(session.session_id, scope=session.scope, page_size=2, page_token=token)
        shown += [state.retrieval_id for state in page.retrievals]
        token = page.next_page_token
        if not token:
            break
    assert (shown, token) == (expected, "")
    second = open_session(session.scope)
    (mine,) = stored.scan_iter(keys.all_like("mine"))
    stored.zadd(mine, {NOISE + str(i).encode(): 0 for i in range(150)})
    first = client.list_sessions(scope=session.scope, page_size=1)
    rest = client.list_sessions(scope=session.scope, page_size=1, page_token=first.next_page_token)
    assert [s.session_id for page in (first, rest) for s in page.sessions] == [second.session_id, session.session_id]


def test_a_damaged_count_starts_anew_and_others_go_on(
    stored: Store, client: Client, session: Session, keys: PartitionKeys
) -> None:
    client.remember([memory("fact", GOOD), memory("fact", EARLIER)], scope=session.scope)
    stored.hset(keys.counts, "1", NOISE)
    deadline = time.monotonic() + 10
    while not all((stored.hget(keys.counts, n) or b"").isdigit() for n in ("1", "2")):
        assert time.monotonic() < deadline, "the damaged count keeps recalls from being counted"
        session.recall("lighthouse keeper")
        time.sleep(0.05)
    assert all(shown.recall_count for shown in client.list_memories(scope=session.scope).memories)


def test_a_damaged_piece_does_not_keep_a_single_record(
    stored: Store, client: Client, session: Session, committed: session_pb2.CommitResponse, keys: PartitionKeys
) -> None:
    for key in (keys.duplicates, keys.speakers, keys.episodes, keys.learned):
        in_each_field(stored, key.encode())
    stored.delete(keys.counts)
    stored.set(keys.counts, GOOD)
    for memory_id, text in (("sch_1", GOOD), ("evt_2", TURN)):
        assert client.forget(scope=session.scope, memory_id=memory_id).forgotten == 1
        assert text not in contents(session.recall("lighthouse keeper gulls", "deep"))
    assert EARLIER in contents(session.recall("lighthouse keeper gulls", "deep"))
