"""The merge of memories with a held conversation, against a plain model of the same rules."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from google.protobuf import timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.model.merge import (
    GATE,
    Exclusion,
    echoes,
    filter_only_roles,
    gated,
    in_order,
    threshold,
    whole_texts,
)
from remembrancer.v1 import recall_pb2

Entry = recall_pb2.ContextEntry
LONG = "the quick brown fox jumps over the lazy dog again"

texts = st.one_of(
    st.sampled_from(
        ["", " ", "\u200b", "OK", "ok", " Ok ", LONG, LONG.upper(), LONG + " and again", LONG[:32], LONG[:31]]
    ),
    st.text(max_size=40),
)
roles = st.sampled_from(["user", "assistant", "User", "tool", "system", "", "x"])
times = st.sampled_from(
    [
        "",
        "yesterday",
        "1714554000",
        "2024-03-10",
        "2024-03-10T10:00:00+09:00",
        "2024-03-10T02:00:00Z",
        "2024-03-10T01:00:00.000000001Z",
        "2024-03-09T20:00:00-05:00",
        "2016-12-31T23:59:60Z",
    ]
)
entries = st.lists(st.builds(Entry, role=roles, name=texts, user_id=texts, content=texts, timestamp=times), max_size=12)
moments = st.lists(st.one_of(st.none(), st.integers(1709996399, 1710039601)), max_size=6)


def blank(text: str) -> bool:
    return not text or all(unicodedata.category(c)[0] in "Z" or unicodedata.category(c) in ("Cc", "Cf") for c in text)


def plain(text: str) -> str:
    while text and blank(text[0]):
        text = text[1:]
    while text and blank(text[-1]):
        text = text[:-1]
    return text.lower()


def drops(held: str, memory: str) -> bool:
    one, two = plain(held), plain(memory)
    if one == two:
        return True
    return len(one) >= 32 and (one[: len(two)] == two or two[: len(one)] == one)


@given(entries, texts)
def test_a_memory_is_left_out_as_the_plain_model_says(held: list[Entry], memory: str) -> None:
    expected = any(drops(entry.content, memory) for entry in held if not blank(entry.content))
    assert Exclusion(held).excludes(memory) == expected


@given(entries, moments)
def test_messages_come_in_the_order_of_the_plain_model(held: list[Entry], seconds: list[int | None]) -> None:
    memories = [
        recall_pb2.ContextMessage(
            content=f"m{i}", timestamp=None if second is None else timestamp_pb2.Timestamp(seconds=second)
        )
        for i, second in enumerate(seconds)
    ]
    merged = [*memories, *echoes(held)]
    undated = [m for m in merged if not m.HasField("timestamp")]
    dated: list[recall_pb2.ContextMessage] = []
    for message in (m for m in merged if m.HasField("timestamp")):
        at = len(dated)
        while at and dated[at - 1].timestamp.ToNanoseconds() > message.timestamp.ToNanoseconds():
            at -= 1
        dated.insert(at, message)
    assert in_order(merged) == undated + dated


@given(entries)
def test_every_nonblank_entry_is_echoed_or_reported_and_none_twice(held: list[Entry]) -> None:
    spoken = [e for e in held if not blank(e.content)]
    given_back = echoes(held)
    assert [(m.role, m.content, m.timestamp_text) for m in given_back] == [
        (e.role, e.content, e.timestamp) for e in spoken if e.role in ("user", "assistant")
    ]
    assert filter_only_roles(held) == sorted({e.role or "(unset)" for e in spoken} - {"user", "assistant"})


@given(st.lists(st.integers(1, 300), max_size=12), st.integers(1, 900))
def test_the_budget_is_spent_from_the_best_down(lengths: list[int], budget: int) -> None:
    whole, ran_out = whole_texts(lengths, budget)
    fitting = [i for i in range(len(lengths) + 1) if i <= 1 or sum(lengths[:i]) <= budget]
    expected = max(i for i in fitting if i <= len(lengths))
    assert (whole, ran_out) == (expected, expected < len(lengths))


def test_p36_p37_exactly_the_budget_fits_and_one_more_does_not() -> None:
    assert whole_texts([16000] * 12 + [8000]) == (13, False)
    assert whole_texts([16000] * 12 + [8001]) == (12, True)
    assert whole_texts([16000] * 20) == (12, True)
    assert whole_texts([300_000, 1]) == (1, True)
    assert whole_texts([]) == (0, False)


def test_p13_a_short_entry_excludes_its_equal_only() -> None:
    held = Exclusion([Entry(role="user", content="OK")])
    assert not held.excludes("OK, let's deploy on Friday")
    assert held.excludes("ok")
    assert held.excludes(" Ok\n")


def test_a_long_entry_excludes_beginnings_both_ways() -> None:
    held = Exclusion([Entry(role="tool", content=LONG)])
    assert held.excludes(LONG + " and more")
    assert held.excludes(LONG[:40])
    assert not held.excludes(LONG[1:])


@pytest.mark.parametrize("content", ["", " ", "\n\t", "\u200b"])
def test_p16_blank_entries_do_nothing(content: str) -> None:
    held = [Entry(role="user", content=content), Entry(role="tool", content=content)]
    assert echoes(held) == []
    assert filter_only_roles(held) == []
    assert not Exclusion(held).excludes("anything")


def test_p17_p19_other_roles_filter_only() -> None:
    held = [Entry(role=role, content="x") for role in ("tool", "User", "x", "", "tool", "user")]
    assert filter_only_roles(held) == ["(unset)", "User", "tool", "x"]
    assert [m.role for m in echoes(held)] == ["user"]


def test_p20_an_echo_goes_by_user_id_else_name_else_user_the_agents_by_self() -> None:
    held = [
        Entry(role="user", content="a"),
        Entry(role="user", content="b", name="Ada"),
        Entry(role="user", content="c", name="Ada", user_id="u-1"),
        Entry(role="assistant", content="d", name="Bot", user_id="u-2"),
    ]
    assert [(m.source.kind, m.source.id) for m in echoes(held)] == [
        ("User", "User"),
        ("User", "Ada"),
        ("User", "u-1"),
        ("Agent", "self"),
    ]


def test_p21_equal_entries_are_both_echoed() -> None:
    assert len(echoes([Entry(role="user", content="same")] * 2)) == 2


def test_p23_p24_times_that_say_nothing_come_first_and_equal_ones_keep_their_order() -> None:
    memory = recall_pb2.ContextMessage(content="memory")
    memory.timestamp.FromDatetime(datetime(2024, 3, 10, 1, tzinfo=UTC))
    said = ["2024-03-10T10:00:00+09:00", "", "yesterday", "1714554000", "2024-03-10T01:00:00Z"]
    held = [Entry(role="user", content=str(i), timestamp=text) for i, text in enumerate(said)]
    merged = in_order([memory, *echoes(held)])
    assert [m.content for m in merged] == ["1", "2", "3", "memory", "0", "4"]
    assert [m.timestamp_text for m in merged] == ["", "yesterday", "1714554000", "", said[0], said[4]]


def test_the_gate_and_what_relaxes_it() -> None:
    assert threshold(None, relax=False) == GATE
    assert threshold(None, relax=True) == GATE / 2
    assert threshold(0.9, relax=True) == 0.9
    assert threshold(0.01, relax=False) == GATE


def test_the_fallback_lets_shared_words_in_when_nothing_passes() -> None:
    weak, worded = (0.2, 0.0), (0.1, 0.4)
    found = ([weak, worded], lambda c: c[0], lambda c: c[1])
    assert gated(*found, 0.3, None) == ([worded], True)
    assert gated(*found, 0.3, 0.15) == ([], False)
    assert gated(*found, 0.2, None) == ([weak], False)
