"""How the demo looks."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from remembrancer.v1 import errors_pb2, recall_pb2


class Narrator:
    """Tells the story, and keeps count of what did not show what it should; every text is shown as it is."""

    def __init__(self, console: Console) -> None:
        """Take where to tell it."""
        self.console = console
        self.failed: list[str] = []

    def chapter(self, title: str, text: str) -> None:
        """Begin a chapter."""
        self.console.print()
        self.console.print(Rule(Text(title, "bold"), align="left"))
        self.console.print(Text(f"{text}\n", "dim"))

    def say(self, text: str, style: str = "") -> None:
        """Say one thing."""
        self.console.print(Text(text, style))

    def expect(self, what: str, *, held: bool) -> None:
        """Say whether something held that should."""
        self.console.print(Text.assemble(("✓", "green"), " ", what) if held else Text(f"✗ {what}", "bold red"))
        if not held:
            self.failed.append(what)

    def hits(self, title: str, hits: Iterable[recall_pb2.Hit]) -> None:
        """Show memories, and for each reached through the graph the path that led there."""
        table = Table(
            "score", "when", "who", "memory", "id", title=Text(title, "table.title"), title_justify="left", box=None
        )
        for hit in hits:
            associated = hit.pathway == recall_pb2.PATHWAY_ASSOCIATED
            text = Text(hit.content).append("".join(f"\n└ {step}" for step in hit.why), "magenta")
            table.add_row(
                f"{hit.score:.2f}",
                f"{hit.occurred_at.ToDatetime():%d %b %Y}",
                Text(hit.name),
                text,
                Text(hit.memory_id),
                style="magenta" if associated else "",
            )
        self.console.print(table)

    def uncovered(self, detail: errors_pb2.FeedbackIncomplete) -> None:
        """Show the retrievals that stand in the way of a commit."""
        table = Table("retrieval", "not assessed", "such as", box=None)
        for retrieval in detail.retrievals:
            table.add_row(
                Text(_short(retrieval.retrieval_id)),
                str(retrieval.outstanding_count),
                Text(", ".join(retrieval.outstanding)),
            )
        self.console.print(table)


def all_hits(answer: recall_pb2.RecallResponse) -> list[recall_pb2.Hit]:
    """Return observations, episodes and turns of an answer by descending score."""
    return sorted([*answer.hits.observations, *answer.hits.turns], key=lambda hit: -hit.score)


def _short(identifier: str) -> str:
    return identifier if len(identifier) <= 24 else f"{identifier[:10]}…{identifier[-10:]}"
