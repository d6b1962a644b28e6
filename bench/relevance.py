"""`python -m bench.relevance`: how the relevance scale tells questions that are answered from those that are off-topic.

Stores of 1, 60 and 3000 statements are filled and asked through the public API. For each size it prints quantiles of
the best relevance of off-topic questions and of the relevance of the statement that answers a question, and what share
of either the floor keeps out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from bench import statements
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory, tenant
from remembrancer.model.fusion import RELEVANCE_FLOOR

QUANTILES = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
LARGE = 3000
BATCH = 100
SINGLES = 10
"""How many statements are each tried as the only memory of a store."""


def relevance(model: Annotated[str, typer.Option(help="Encoder model.")] = "all-MiniLM-L6-v2") -> None:
    """Measure the relevance of statements to questions that they answer, and to off-topic ones."""
    known = statements.load()
    texts = [statement for statement, _ in known.pairs]
    table = Table("memories", "questions", *(f"{q:.0%}" for q in QUANTILES), "below the floor")
    environment = {"REMEMBRANCER_MODEL": model}
    with (
        tempfile.TemporaryDirectory(prefix="remembrancer-bench-") as folder,
        LocalService(Path(folder), environment=environment) as service,
        Client.connect(service.address) as client,
    ):
        stores = [[text] for text in texts[:: len(texts) // SINGLES]]
        for number, store in enumerate([*stores, texts, texts + statements.filler(LARGE - len(texts))]):
            _fill(client, f"store-{number}", store)
        asked = known.pairs[:: len(texts) // SINGLES]
        for label, pairs, numbers in (
            ("1", asked, range(len(stores))),
            (str(len(texts)), known.pairs, [len(stores)] * len(texts)),
            (str(LARGE), known.pairs, [len(stores) + 1] * len(texts)),
        ):
            off = [
                _best(client, f"store-{n}", question, None)
                for n in sorted(set(numbers))
                for question in known.off_topic
            ]
            on = [
                _best(client, f"store-{n}", question, statement)
                for n, (statement, question) in zip(numbers, pairs, strict=True)
            ]
            table.add_row(label, "off-topic", *_row(off))
            table.add_row(label, "answered", *_row(on))
    Console().print(table)


def _fill(client: Client, store: str, texts: Sequence[str]) -> None:
    for start in range(0, len(texts), BATCH):
        client.remember([memory("fact", text) for text in texts[start : start + BATCH]], scope=tenant(store))


def _best(client: Client, store: str, question: str, statement: str | None) -> float:
    answer = client.recall(question, scope=tenant(store), top_k=50, probable_answer=False)
    return max((hit.relevance for hit in answer.hits.observations if statement in (None, hit.content)), default=0.0)


def _row(values: Sequence[float]) -> list[str]:
    below = sum(value < RELEVANCE_FLOOR for value in values) / len(values)
    return [*(f"{value:.2f}" for value in np.quantile(values, QUANTILES)), f"{below:.0%}"]


if __name__ == "__main__":
    typer.run(relevance)
