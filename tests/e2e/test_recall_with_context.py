"""RecallWithContext: memories merged with the conversation that the caller holds."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, ClientError, InvalidArgument, context_entry, memory, reason_of, tenant, turn
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from tests.gateway import Gateway
from tests.service import OpenSession, Outage, Session

AGENT = "default-agent"
Answer = recall_pb2.RecallWithContextResponse
Ask = Callable[..., Answer]
OFF_TOPIC = "Mangoes ripen faster in a paper bag."


@pytest.fixture
def org(scope: str) -> str:
    return scope.partition(":")[2]


@pytest.fixture
def ask(client: Client, org: str) -> Ask:
    """Return a function that recalls in the test's tenant, without a session."""

    def recall(query: str = "", **more: object) -> Answer:
        fields: dict[str, object] = {"scope": tenant(org), "agent_id": AGENT} | more
        return client.recall_with_context(query, **fields)  # type: ignore[arg-type]

    return recall


@pytest.fixture
def write(client: Client, org: str) -> Callable[..., list[str]]:
    def remember(*texts: str, **more: object) -> list[str]:
        items = [memory("fact", text) for text in texts]
        written = [
            client.remember(items[i : i + 100], scope=tenant(org), **more)  # type: ignore[arg-type]
            for i in range(0, len(items), 100)
        ]
        return [result.memory_id for answer in written for result in answer.results]

    return remember


Write = Callable[..., list[str]]


def texts(answer: Answer) -> list[str]:
    return [message.content for message in answer.messages]


def ids(answer: Answer) -> list[str]:
    return [m.memory.memory_id for m in answer.messages if m.origin == recall_pb2.MESSAGE_ORIGIN_MEMORY]


def test_p1_a_blank_query_gives_the_newest_without_gate_and_encoder(ask: Ask, write: Write, killed: Outage) -> None:
    for text in ("Oldest.", "Middle.", "Newest."):
        write(text)
    for query in ("", "   ", "\u200b"):
        assert texts(ask(query, limit=2)) == ["Middle.", "Newest."]
    answer = ask(" ", mode="deep")
    assert texts(answer) == ["Oldest.", "Middle.", "Newest."]
    assert answer.confidence == 0
    assert {m.memory.relevance for m in answer.messages} == {0}
    assert answer.probable_answer_reason == recall_pb2.PROBABLE_ANSWER_REASON_NOT_ENABLED
    assert not answer.procedures
    with killed(Role.ENCODER):
        answer = ask("")
        assert len(texts(answer)) == 3
        assert not answer.HasField("active_tier_error")
        assert answer.degraded_advisory == ""


def test_p1_the_newest_come_with_their_evidence_first_and_say_that_there_are_more(ask: Ask, write: Write) -> None:
    write(*(f"Note number {n}." for n in range(12)))
    answer = ask("", limit=10)
    assert [e.evidence_id for e in answer.evidence] == [f"evt_{n}" for n in range(12, 4, -1)]
    assert answer.evidence_truncated
    assert answer.more_available
    assert not ask("", limit=12).more_available


def test_p3_p4_the_oldest_of_many_is_found_whatever_the_limit(ask: Ask, write: Write) -> None:
    target = "The lighthouse keeper's cat is called Marzipan."
    write(target, *(f"Delivery {i} left the depot in time." for i in range(299)))
    for limit in (1, 10):
        answer = ask("what is the cat of the lighthouse keeper called?", limit=limit)
        assert max(answer.messages, key=lambda m: m.memory.score).content == target


def test_the_probable_answer_is_one_of_the_messages(ask: Ask, write: Write) -> None:
    write("The ferry to the island leaves at seven.", OFF_TOPIC)
    question = "when does the ferry to the island leave?"
    answer = ask(question)
    assert answer.probable_answer.id in ids(answer)
    assert answer.probable_answer.text in texts(answer)
    silent = ask(question, probable_answer=False)
    assert silent.probable_answer_reason == recall_pb2.PROBABLE_ANSWER_REASON_NOT_ENABLED
    assert texts(silent) == texts(answer)


def test_the_gate_drops_what_is_off_topic_and_relaxing_halves_it(ask: Ask, write: Write) -> None:
    write("The ferry to the island leaves at seven.", OFF_TOPIC)
    answer = ask("when does the ferry to the island leave?")
    assert texts(answer) == ["The ferry to the island leaves at seven."]
    assert not answer.gate_fallback
    assert texts(ask("quarterly revenue of the subsidiary")) == []
    weak = "which boats go there in the morning?"
    scores = {limit: ask(weak, relax_gate=relaxed).messages for limit, relaxed in ((0, False), (1, True))}
    assert all(m.memory.relevance >= 0.30 for m in scores[0])
    assert all(m.memory.relevance >= 0.15 for m in scores[1])
    assert len(scores[1]) >= len(scores[0])
    assert texts(ask("when does the ferry to the island leave?", relax_gate=True, min_score=0.99)) == []


def test_p29_p31_words_alone_get_through_when_nothing_else_does(ask: Ask, write: Write, killed: Outage) -> None:
    write("Remember the falcon code.", *(f"Line {i} of the log is clean." for i in range(4)))
    assert texts(ask("falcon?")) == ["Remember the falcon code."]
    query = "falcon overhead costs quarterly subsidiary revenue liabilities amortisation ledger audit compliance board"
    answer = ask(query)
    assert texts(answer) == ["Remember the falcon code."]
    assert answer.gate_fallback
    assert texts(ask(query, min_score=0.3)) == []
    with killed(Role.ENCODER):
        answer = ask("falcon?")
        assert texts(answer) == ["Remember the falcon code."]
        assert reason_of(answer.active_tier_error) == "ENCODER_UNAVAILABLE"


def test_p29_what_is_held_already_takes_no_place(ask: Ask, write: Write) -> None:
    held = [f"The harbour gate number {i} is painted blue this year." for i in range(60)]
    write(*held, "The harbour gate at the end is green.")
    context = [context_entry(text, role="user") for text in held]
    answer = ask("which harbour gate is painted green?", external_context=context, limit=5)
    memories = [m.content for m in answer.messages if m.origin == recall_pb2.MESSAGE_ORIGIN_MEMORY]
    assert memories == ["The harbour gate at the end is green."]
    assert len(answer.messages) == 61


def test_p13_p19_p21_exclusion_echo_and_roles(ask: Ask, write: Write) -> None:
    write("OK, let's deploy on Friday", "ok")
    context = [
        context_entry("OK", role="user", user_id="u-1"),
        context_entry("OK", role="user"),
        context_entry("noted", role="User"),
        context_entry("done", role="tool"),
        context_entry(" ", role="system"),
        context_entry("said so", name="nobody"),
    ]
    answer = ask("", external_context=context)
    assert [(m.origin, m.content, m.source.id) for m in answer.messages] == [
        (recall_pb2.MESSAGE_ORIGIN_CONVERSATION, "OK", "u-1"),
        (recall_pb2.MESSAGE_ORIGIN_CONVERSATION, "OK", "User"),
        (recall_pb2.MESSAGE_ORIGIN_MEMORY, "OK, let's deploy on Friday", AGENT),
    ]
    assert list(answer.context_filter_only.roles) == ["(unset)", "User", "tool"]
    assert not ask("", external_context=context[:2]).HasField("context_filter_only")


def test_p24_e1_all_messages_come_in_the_order_of_their_instants(client: Client, ask: Ask, org: str) -> None:
    client.record_turns(
        [
            turn("Two.", name="Ida", role="user", timestamp="2024-03-10T02:00:00Z"),
            turn("One.", name="Ida", role="assistant", timestamp="2024-03-10T10:00:00+09:00"),
        ],
        scope=tenant(org),
    )
    context = [
        context_entry("tie", role="user", timestamp="2024-03-10T02:00:00.000Z"),
        context_entry("sometime", role="assistant", timestamp="yesterday"),
        context_entry("between", role="user", timestamp="2024-03-10 01:30"),
    ]
    answer = ask("", external_context=context)
    assert texts(answer) == ["sometime", "One.", "between", "Two.", "tie"]
    assert [m.timestamp_text for m in answer.messages if not m.HasField("memory")] == [
        "yesterday",
        "2024-03-10 01:30",
        "2024-03-10T02:00:00.000Z",
    ]
    assert [m.source.kind for m in answer.messages if m.HasField("memory")] == ["Agent", "User"]


def test_limit_0_gives_the_conversation_alone(ask: Ask, write: Write, killed: Outage) -> None:
    write("A memory.")
    answer = ask("memory", limit=0, external_context=[context_entry("hello", role="user")])
    assert texts(answer) == ["hello"]
    assert answer.retrieval_id
    with killed(Role.ACTIVE):
        assert texts(ask("memory", limit=0)) == []
        with pytest.raises(ClientError) as refused:
            ask("memory")
        assert refused.value.reason == "TIERS_UNAVAILABLE"


def test_p35_previews_are_cut_at_500_code_points(ask: Ask, write: Write) -> None:
    write("🍸" * 501, "a" * 500)
    exact, longer = ask("").messages  # One arrival: newest first, as recalled.
    assert (exact.content, exact.content_truncated) == ("a" * 500, False)
    assert (longer.content, longer.content_truncated, longer.content_length) == ("🍸" * 500, True, 501)
    assert longer.memory.content == ""


def test_p36_p37_whole_texts_within_the_budget(ask: Ask, write: Write) -> None:
    letters = "abcdefghijklm"
    write(*(letter * 16000 for letter in letters[:12]), "m" * 8000)
    context = [context_entry("z" * 20000, role="user")]
    answer = ask("", limit=50, full_content=True, external_context=context)
    assert not any(m.content_truncated for m in answer.messages)
    assert not answer.HasField("full_content_budget_chars")
    write("n")
    answer = ask("", limit=50, full_content=True, external_context=context)
    assert [m.content[0] for m in answer.messages if m.content_truncated] == ["a"]
    assert answer.full_content_budget_chars == 200_000
    assert len(answer.messages[-1].content) in (1, 20000)
    assert not any(len(m.content) > 500 for m in ask("", limit=50).messages)


def test_p8_channels_keep_memories_and_episodes_apart(client: Client, ask: Ask, write: Write) -> None:
    write("The budget of the bridge is closed.", axes={"channel": "c1"})
    write("The budget of the tunnel is open.", axes={"channel": "c2"})
    for mode in ("active", "deep"):
        for query in ("the budget", "bridge or tunnel", ""):
            found = texts(ask(query, axes={"channel": "c1"}, mode=mode))
            assert found == ["The budget of the bridge is closed."]


def test_p9_p12_sources_episodes_and_counters(client: Client, scope: str, open_session: OpenSession) -> None:
    session = open_session(axes={"channel": "c1", "source_id": "u1"})
    client.remember([memory("fact", "The orchard was pruned in March.")], scope=scope, session_id=session.session_id)
    session.cover(session.opening.retrieval_id)
    client.commit(
        session.session_id,
        scope=scope,
        final_goal="prune the orchard",
        outcome="success",
        outcome_summary="the orchard was pruned",
    )
    other = open_session()

    def ask(axes: dict[str, str]) -> Answer:
        return client.recall_with_context(
            "was the orchard pruned?", scope=scope, session_id=other.session_id, agent_id=AGENT, axes=axes
        )

    assert sorted(ids(ask({}))) == ["ep_2", "sch_1"]
    assert ids(ask({"source_id": "u1"})) == ["sch_1"]
    assert sorted(ids(ask({"source_id": "u1", "channel": "c1"}))) == ["ep_2", "sch_1"]
    assert ids(ask({"source_id": "u1", "channel": "c2"})) == []
    deadline = time.monotonic() + 5
    while True:
        counts = {m.memory_id: m.recall_count for m in client.list_memories(scope=scope).memories}
        if counts == {"sch_1": 3, "ep_2": 0} or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    assert counts == {"sch_1": 3, "ep_2": 0}


def test_p29_a_scope_with_episodes_only_gives_them(client: Client, scope: str, open_session: OpenSession) -> None:
    session = open_session()
    session.cover(session.opening.retrieval_id)
    client.commit(
        session.session_id, scope=scope, final_goal="mend the roof", outcome="success", outcome_summary="roof mended"
    )
    other = open_session()
    answer = client.recall_with_context(
        "who mended the roof?", scope=scope, session_id=other.session_id, agent_id=AGENT,
        external_context=[context_entry("mend the roof\nroof mended", role="user")],
    )  # fmt: skip
    assert ids(answer) == ["ep_1"]
    # P25: one time everywhere.
    (shown,) = client.get_contents(["ep_1"], scope=scope).contents
    assert next(m for m in answer.messages if m.HasField("memory")).timestamp == shown.occurred_at


def test_the_ledger_counts_it(client: Client, scope: str, session: Session) -> None:
    client.remember([memory("fact", "The well is deep.")], scope=scope)

    def ask(**more: object) -> Answer:
        return client.recall_with_context(
            "how deep is the well?", scope=scope, session_id=session.session_id, agent_id=AGENT, **more  # type: ignore[arg-type]
        )  # fmt: skip

    context = [context_entry("We talk about the well.", role="user")]
    answer = ask(external_context=context, request_id="same")
    assert ask(external_context=context, request_id="same") == answer
    with pytest.raises(InvalidArgument):
        ask(request_id="same")
    state = session.ledger()
    assert state.retrieval_count == 2
    last = state.retrievals[1]
    assert last.origin == session_pb2.RETRIEVAL_ORIGIN_RECALL_WITH_CONTEXT
    assert list(last.exposed) == ["sch_1"]
    with pytest.raises(ClientError) as refused:
        session.commit()
    assert refused.value.reason == "FEEDBACK_INCOMPLETE"
    assert session.cover(answer.retrieval_id).coverage == session_pb2.COVERAGE_COMPLETE


def test_p11_an_agent_must_be_named_and_sees_its_own(client: Client, ask: Ask, write: Write) -> None:
    write("The cook's.", axes={"agent_id": "cook"})
    write("Everybody's default.")
    assert texts(ask("", agent_id="cook")) == ["The cook's."]
    for wrong in ({"agent_id": ""}, {"agent_id": " "}, {"agent_id": "cook", "axes": {"agent_id": "maid"}}):
        with pytest.raises(InvalidArgument):
            ask("", **wrong)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"limit": -1}, "limit"),
        ({"limit": 51}, "limit"),
        ({"min_score": float("nan")}, "min_score"),
        ({"external_context": [context_entry("x")] * 501}, "external_context"),
        ({"external_context": [context_entry("語" * 350_000)]}, "external_context"),
        ({"external_context": [context_entry("x", role="r" * 257)]}, "external_context[0].role"),
        ({"query": "q" * 4097}, "query"),
    ],
)
def test_what_is_beyond_a_limit_is_refused_by_name(ask: Ask, more: dict[str, object], field: str) -> None:
    query = str(more.pop("query", "")) if "query" in more else ""
    with pytest.raises(InvalidArgument) as refused:
        ask(query, **more)
    assert [v.field for v in refused.value.violations] == [field]


def test_t24_every_text_of_the_held_conversation_counts_in_bytes(ask: Ask) -> None:
    others = {"role": "ü", "name": "n", "user_id": "i", "timestamp": "2024"}
    room = 2 * 2**19 - sum(len(text.encode()) for text in others.values())
    last = "語" * (room // 3) + "x" * (room % 3)
    assert ask("", external_context=[context_entry(last, **others)]).context_filter_only.roles == ["ü"]
    for beyond in ({"content": f"{last}x"}, {"name": "nn"}, {"role": "語"}, {"timestamp": "20240"}, {"user_id": "é"}):
        entry = context_entry(**{"content": last, **others, **beyond})
        with pytest.raises(InvalidArgument, match="role, name, user_id, content and timestamp, have 104857") as refused:
            ask("", external_context=[entry])
        assert [v.field for v in refused.value.violations] == ["external_context"]


def test_p32_the_advisory_comes_in_full_once_per_outage_and_key(ask: Ask, write: Write, killed: Outage) -> None:
    write("The kiln is hot.")
    assert ask("kiln", session_key="a").degraded_advisory == ""
    with killed(Role.ENCODER):
        full = ask("kiln", session_key="a").degraded_advisory
        short = ask("kiln", session_key="a").degraded_advisory
        assert 0 < len(short) < len(full)
        assert ask("kiln", session_key="a").degraded_advisory == short
        assert ask("kiln", session_key="b").degraded_advisory == full
    assert ask("kiln", session_key="a").degraded_advisory == ""
    with killed(Role.ENCODER):
        assert ask("kiln", session_key="a").degraded_advisory == full


def test_t19_two_gateways_tell_of_an_outage_once_and_recovery_at_one_arms_both(
    client: Client, service: LocalService, scope: str, killed: Outage
) -> None:
    def advisory(at: Client) -> str:
        answer = at.recall_with_context("kiln", scope=tenant(scope), agent_id=AGENT, session_key="a")
        return answer.degraded_advisory

    client.remember([memory("fact", "The kiln is hot.")], scope=tenant(scope))
    with Gateway(service) as gateway, gateway.client() as other:
        assert [advisory(client), advisory(other)] == ["", ""]
        with killed(Role.ENCODER):
            told = [advisory(at) for at in (client, other, client, other)]
            assert len(told[0]) > len(told[1]) > 0
            assert told[1:] == [told[1]] * 3
        # One of them sees that the encoder works; then the other one tells of the next outage first.
        assert advisory(client) == ""
        with killed(Role.ENCODER):
            assert [advisory(other), advisory(client)] == told[:2]


def test_p33_a_frozen_encoder_costs_a_bounded_wait(ask: Ask, write: Write, frozen: Outage) -> None:
    write("The kiln is hot.")
    with frozen(Role.ENCODER):
        began = time.monotonic()
        answer = ask("kiln", timeout=2.0)
        assert time.monotonic() - began < 2.5
        assert texts(answer) == ["The kiln is hot."]
        assert reason_of(answer.active_tier_error) == "ENCODER_UNAVAILABLE"


def test_deep_answers_bring_paths_beside_the_limit(client: Client, scope: str, open_session: OpenSession) -> None:
    client.record_turns(
        [
            turn("Ines adopted the greyhound Biscuit.", name="Ines", msg_id="1"),
            turn("The vet found a slow thyroid.", name="Ines", msg_id="2"),
        ],
        scope=scope,
        axes={"conversation_id": "c"},
    )
    session = open_session()
    answer = client.recall_with_context(
        "Who adopted a greyhound?", scope=scope, session_id=session.session_id, agent_id=AGENT, mode="deep", limit=1
    )
    by_pathway = {m.memory.pathway: m.content for m in answer.messages}
    assert by_pathway[recall_pb2.PATHWAY_DIRECT] == "Ines adopted the greyhound Biscuit."
    assert answer.usage.tokens_out > 0
    assert common_pb2.TIER_DEEP in answer.messages[0].memory.found_by
