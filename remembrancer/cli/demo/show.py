"""How the demo looks."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.rule import Rule
from rich.table import Table

from remembrancer.v1 import errors_pb2, recall_pb2


class Narrator:
    """Tells the story, and keeps count of what did not show what it should."""

    def __init__(self, console: Console) -> None:
        """Take where to tell it."""
        self.console = console
        self.failed: list[str] = []

    def chapter(self, title: str, text: str) -> None:
        """Begin a chapter."""
        self.console.print()
        self.console.print(Rule(f"[bold]{title}", align="left"))
        self.console.print(f"[dim]{text}[/]\n")

    def say(self, text: str) -> None:
        """Say one thing."""
        self.console.print(text, highlight=False)

    def expect(self, what: str, *, held: bool) -> None:
        """Say whether something held that should."""
        self.console.print(f"[green]✓[/] {what}" if held else f"[bold red]✗ {what}[/]", highlight=False)
        if not held:
            self.failed.append(what)

    def hits(self, title: str, hits: Iterable[recall_pb2.Hit]) -> None:
        """Show memories, and for each reached through the graph the path that led there."""
        table = Table("score", "when", "who", "memory", "id", title=title, title_justify="left", box=None)
        for hit in hits:
            associated = hit.pathway == recall_pb2.PATHWAY_ASSOCIATED
            text = hit.content + "".join(f"\n[magenta]└ {step}[/]" for step in hit.why)
            table.add_row(
                f"{hit.score:.2f}",
                f"{hit.occurred_at.ToDatetime():%d %b %Y}",
                hit.name,
                text,
                hit.memory_id,
                style="magenta" if associated else "",
            )
        self.console.print(table)

    def uncovered(self, detail: errors_pb2.FeedbackIncomplete) -> None:
        """Show the retrievals that stand in the way of a commit."""
        table = Table("retrieval", "not assessed", "such as", box=None)
        for retrieval in detail.retrievals:
            table.add_row(
                _short(retrieval.retrieval_id),
                str(retrieval.outstanding_count),
                ", ".join(retrieval.outstanding),
            )
        self.console.print(table)


def all_hits(answer: recall_pb2.RecallResponse) -> list[recall_pb2.Hit]:
    """Return observations, episodes and turns of an answer by descending score."""
    return sorted([*answer.hits.observations, *answer.hits.turns], key=lambda hit: -hit.score)


def _short(identifier: str) -> str:
    return identifier if len(identifier) <= 24 else f"{identifier[:10]}…{identifier[-10:]}"
