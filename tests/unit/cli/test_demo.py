"""The demo's conversation and its count of failures."""

from __future__ import annotations

import io

from rich.console import Console

from remembrancer.cli.demo import conversation
from remembrancer.cli.demo.show import Narrator
from remembrancer.v1 import errors_pb2, recall_pb2


def test_the_conversation_is_what_the_story_needs() -> None:
    talk = conversation.load()
    turns = [turn for sitting in talk.sittings for turn in sitting.turns]
    assert talk.turn_count == len(turns) == 60
    assert len(talk.sittings) == 6
    assert {turn.name for turn in turns} == {"Ines", "Tomasz"}
    assert len({turn.msg_id for turn in turns}) == 60
    assert [s.turns[0].timestamp for s in talk.sittings] == sorted(s.turns[0].timestamp for s in talk.sittings)
    # The pill is reachable from the greyhound only by the dog's name.
    (pill,) = [turn.content for turn in turns if "pill every morning" in turn.content]
    assert "Biscuit" in pill
    assert "greyhound" not in pill
    assert any("greyhound" in turn.content and "Biscuit" in turn.content for turn in turns)


def test_what_does_not_hold_is_shown_and_counted() -> None:
    shown = io.StringIO()
    narrator = Narrator(Console(file=shown))
    narrator.expect("the sun rises", held=True)
    assert narrator.failed == []
    narrator.expect("pigs fly", held=False)
    assert narrator.failed == ["pigs fly"]
    assert "✓ the sun rises" in shown.getvalue()
    assert "✗ pigs fly" in shown.getvalue()


def test_texts_that_look_like_markup_are_shown_as_they_are() -> None:
    shown = io.StringIO()
    narrator = Narrator(Console(file=shown, width=200))
    hit = recall_pb2.Hit(memory_id="[i]", content="[bold]a[/red]", name="[/b]", why=["by [link=x]"])
    missing = errors_pb2.UncoveredRetrieval(retrieval_id="[u]", outstanding_count=1, outstanding=["[/s]"])
    narrator.chapter("[/title]", "[/text]")
    narrator.say("[/said]", "yellow")
    narrator.expect("[/held]", held=True)
    narrator.expect("every call succeeds ([/red])", held=False)
    narrator.hits("[/question]", [hit])
    narrator.uncovered(errors_pb2.FeedbackIncomplete(retrievals=[missing]))
    for text in (
        *("[/title]", "[/text]", "[/said]", "✓ [/held]", "✗ every call succeeds ([/red])", "[/question]"),
        *("[i]", "[bold]a[/red]", "[/b]", "└ by [link=x]", "[u]", "[/s]"),
    ):
        assert text in shown.getvalue()
