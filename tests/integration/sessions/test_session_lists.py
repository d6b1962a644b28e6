"""Lists of sessions and of a session's retrievals, page by page."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from remembrancer.client import Client, InvalidArgument, NotFound
from remembrancer.internal.v1 import store_pb2
from remembrancer.v1 import session_pb2
from tests.integration.sessions.conftest import DAY_MS, Age, keys_of
from tests.service import OpenSession, Session


def pages(client: Client, scope: str, size: int, states: list[str] | None = None) -> list[list[str]]:
    """Return the session ids of all pages."""
    found: list[list[str]] = []
    token = ""
    while True:
        page = client.list_sessions(scope=scope, page_size=size, page_token=token, states=states or [])
        found.append([session.session_id for session in page.sessions])
        token = page.next_page_token
        if not token:
            return found


@pytest.mark.essential
def test_sessions_come_newest_first_and_each_once(client: Client, scope: str, open_session: OpenSession) -> None:
    opened = [open_session().session_id for _ in range(7)]
    open_session(f"{scope}-other")
    newest_first = opened[::-1]
    assert pages(client, scope, 50) == [newest_first]
    assert pages(client, scope, 3) == [newest_first[:3], newest_first[3:6], newest_first[6:]]
    assert pages(client, scope, 7) == [newest_first]
    assert pages(client, f"{scope}-empty", 3) == [[]]


def test_d25_sessions_opened_meanwhile_change_nothing_on_later_pages(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    opened = [open_session().session_id for _ in range(5)]
    first = client.list_sessions(scope=scope, page_size=2)
    open_session()
    rest = client.list_sessions(scope=scope, page_size=50, page_token=first.next_page_token)
    listed = [session.session_id for page in (first, rest) for session in page.sessions]
    assert listed == opened[::-1]


def test_a_summary_says_where_a_session_stands(client: Client, scope: str, open_session: OpenSession, age: Age) -> None:
    idle, done, gone, open_one = (open_session() for _ in range(4))
    done.cover(done.opening.retrieval_id)
    done.commit()
    client.abandon_session(gone.session_id, scope=scope)
    age(idle.session_id, 3601)
    shown = {session.session_id: session for session in client.list_sessions(scope=scope).sessions}
    states = [shown[s.session_id].state for s in (idle, done, gone, open_one)]
    assert states == [
        session_pb2.SESSION_STATE_EXPIRED,
        session_pb2.SESSION_STATE_COMMITTED,
        session_pb2.SESSION_STATE_ABANDONED,
        session_pb2.SESSION_STATE_OPEN,
    ]
    one = shown[open_one.session_id]
    assert (one.task, one.retrieval_count, one.uncovered_count) == ("a test", 1, 1)
    assert one.continuity_id == open_one.opening.continuity_id
    assert one.expires_at.seconds - one.active_at.seconds == 3600
    assert shown[done.session_id].uncovered_count == 0
    assert shown[done.session_id].outcome
    assert not shown[done.session_id].HasField("expires_at")
    assert pages(client, scope, 50, ["expired"]) == [[idle.session_id]]
    assert pages(client, scope, 50, ["abandoned", "committed"]) == [[gone.session_id, done.session_id]]
    assert pages(client, scope, 1, ["open"])[0] == [open_one.session_id]


def test_a_damaged_session_is_passed_over_and_the_others_are_listed(
    client: Client, scope: str, open_session: OpenSession, stored: Any
) -> None:
    noise = {
        "info": (b"\xff\xff\xff not a session",),
        "state": (b"\xff", b"asleep"),
        "active": (b"lately", b"-1", str(10**18).encode()),
        "ctx": (b"{", b"[]", b"\xff"),
        "count": (b"many", str(2**31).encode()),
        "outcome": (b"\xff\xff\xff",),
        "episode": (b"ep_1",),
        "procedure": (b"1.5",),
    }
    before = open_session()
    damaged = open_session()
    after = open_session()
    keys, ref = keys_of(damaged.session_id)
    key = keys.session(ref.ledger)
    whole = stored.hgetall(key)
    for field, values in noise.items():
        for value in values:
            stored.hset(key, field, value)
            assert pages(client, scope, 50) == [[after.session_id, before.session_id]], (field, value)
            with pytest.raises(NotFound):
                client.get_session(damaged.session_id, scope=scope)
            stored.delete(key)
            stored.hset(key, mapping=whole)
    assert pages(client, scope, 50) == [[after.session_id, damaged.session_id, before.session_id]]


def test_a_filter_looks_through_pages_of_others(
    client: Client, scope: str, open_session: OpenSession, stored: Any
) -> None:
    wanted, other = open_session(), open_session()
    client.abandon_session(other.session_id, scope=scope)
    keys, ref = keys_of(other.session_id)
    opened = other.ledger().opened_at.ToMilliseconds()
    for i in range(250):
        twin = "".join(chr(ord("a") + int(digit)) for digit in f"{i:016d}")
        stored.copy(keys.session(ref.ledger), keys.session(twin))
        stored.zadd(keys.sessions_of("local"), {f"{opened + 1 + i:015d}-{twin}": 0})
    assert [page for page in pages(client, scope, 5, ["open"]) if page] == [[wanted.session_id]]
    assert sum(map(len, pages(client, scope, 100, ["abandoned"]))) == 251


def test_listing_is_no_activity(client: Client, scope: str, session: Session) -> None:
    before = session.ledger().active_at
    client.list_sessions(scope=scope)
    assert session.ledger().active_at == before


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("page_size", {"page_size": -1}),
        ("page_size", {"page_size": 501}),
        ("states[0]", {"states": [0]}),
        ("states[1]", {"states": [1, 99]}),
        ("page_token", {"page_token": "rubbish"}),
        ("page_token", {"page_token": "é"}),
        ("page_token", {"page_token": base64.urlsafe_b64encode(b"other|000000000000001-aaaaaaaaaaaaaaaa").decode()}),
    ],
)
def test_bad_requests_name_the_field(client: Client, scope: str, field: str, bad: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument) as refused:
        client.list_sessions(scope=scope, **bad)  # type: ignore[arg-type]
    assert refused.value.violations[0].field == field


def test_a_token_of_another_scope_is_refused(client: Client, scope: str, open_session: OpenSession) -> None:
    for _ in range(2):
        open_session()
    token = client.list_sessions(scope=scope, page_size=1).next_page_token
    with pytest.raises(InvalidArgument):
        client.list_sessions(scope=f"{scope}-other", page_token=token)


@pytest.mark.essential
def test_sessions_past_their_retention_leave_the_list(
    client: Client, scope: str, open_session: OpenSession, stored: Any
) -> None:
    """Their entries go with the next Activates, so that the list stays as long as what it lists."""
    old = open_session()
    keys, ref = keys_of(old.session_id)
    index = keys.sessions_of("local")
    (entry,) = stored.zrange(index, 0, -1)
    opened = int(entry.split(b"-")[0]) - 8 * DAY_MS
    stored.zrem(index, entry)
    stored.zadd(index, {f"{opened:015d}-{ref.ledger}": 0})
    # An old session that was active until lately stays.
    open_session()
    assert old.session_id in pages(client, scope, 50)[0]
    stored.delete(keys.session(ref.ledger))
    assert old.session_id not in pages(client, scope, 50)[0]
    open_session()
    assert stored.zcard(index) == 2
    assert 0 < stored.pttl(index) <= 7 * DAY_MS + 3_600_000


def test_the_retrievals_of_a_session_come_in_pages(client: Client, scope: str, session: Session) -> None:
    made = [session.opening.retrieval_id, *(session.recall(f"question {i}").retrieval_id for i in range(4))]
    found: list[str] = []
    token, sizes = "", []
    while True:
        page = client.get_session(session.session_id, scope=scope, page_size=2, page_token=token)
        assert (page.retrieval_count, page.uncovered_count) == (5, 5)
        found += [retrieval.retrieval_id for retrieval in page.retrievals]
        sizes.append(len(page.retrievals))
        token = page.next_page_token
        if not token:
            break
    assert found == made
    assert sizes == [2, 2, 1]


def test_a_page_of_retrievals_stays_small(client: Client, scope: str, session: Session, stored: Any) -> None:
    keys, ref = keys_of(session.session_id)
    exposed = [f"sch_{10**17 + n}" for n in range(63)]
    entry = store_pb2.Retrieval(caller="local", exposed=exposed).SerializeToString()
    names = [f"{n:016d}".translate(str.maketrans("0123456789", "abcdefghij")) for n in range(499)]
    stored.hset(keys.ledger(ref.ledger), mapping={f"r:{name}": entry for name in names})
    stored.rpush(keys.retrievals(ref.ledger), *names)
    stored.hset(keys.session(ref.ledger), "count", 500)
    seen, token = 0, ""
    while True:
        page = client.get_session(session.session_id, scope=scope, page_size=500, page_token=token)
        assert page.ByteSize() < 2**20 + 100_000
        seen += len(page.retrievals)
        token = page.next_page_token
        if not token:
            break
    assert seen == 500
