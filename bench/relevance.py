"""`python -m bench.relevance`: how the relevance scale tells questions that are answered from those that are off-topic.

Stores of 1, 60 and 3000 statements, and of the project's own conversations, are filled and asked through the public
API. For each it prints quantiles of the best relevance of off-topic questions and of the relevance of what answers a
question, and what share of either the floor keeps out. Questions that say when they ask about, such as "where do I
currently live", have their own store and row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from bench import statements
from bench.dataset import EVALUATION, load
from bench.statements import Statements
from bench.stores import record_all, remember_all
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, tenant
from remembrancer.model.fusion import RELEVANCE_FLOOR

QUANTILES = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
LARGE = 3000
SINGLES = 10
"""How many statements are each tried as the only memory of a store."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question asked of a store, and the texts or sender's ids that answer it; without any it is off-topic."""

    store: str
    text: str
    answers: frozenset[str] = frozenset()


def relevance(model: Annotated[str, typer.Option(help="Encoder model.")] = "all-MiniLM-L6-v2") -> None:
    """Measure the relevance of memories to questions that they answer, and to off-topic ones."""
    known = statements.load()
    table = Table("store", "questions", *(f"{q:.0%}" for q in QUANTILES), "below the floor")
    environment = {"REMEMBRANCER_MODEL": model}
    with (
        tempfile.TemporaryDirectory(prefix="remembrancer-bench-") as folder,
        LocalService(Path(folder), environment=environment) as service,
        Client.connect(service.address) as client,
    ):
        for label, questions in _filled(client, known):
            stores = dict.fromkeys(question.store for question in questions)
            off_topic = [Question(store, text) for store in stores for text in known.off_topic]
            table.add_row(label, "off-topic", *_row([_best(client, question) for question in off_topic]))
            table.add_row(label, "answered", *_row([_best(client, question) for question in questions]))
    Console().print(table)


def _filled(client: Client, known: Statements) -> Iterator[tuple[str, list[Question]]]:
    """Fill stores; yield their label and the questions that they answer."""
    texts = [statement for statement, _ in known.pairs]
    singles = known.pairs[:: len(texts) // SINGLES]
    for statement, _ in singles:
        remember_all(client, statement, [statement])
    yield "1 statement", [Question(statement, question, frozenset([statement])) for statement, question in singles]
    for label, pairs, filling in (
        (f"{len(texts)} statements", known.pairs, texts),
        (f"{LARGE} statements", known.pairs, texts + statements.filler(LARGE - len(texts))),
        ("questions with a time", known.timed, [*dict.fromkeys(statement for statement, _ in known.timed), *texts]),
    ):
        remember_all(client, label, filling)
        yield label, [Question(label, question, frozenset([statement])) for statement, question in pairs]
    for conversation in load(EVALUATION):
        record_all(client, conversation.id, conversation.turns)
        questions = [Question(conversation.id, question.text, question.relevant) for question in conversation.questions]
        yield f"{len(conversation.turns)} turns, {conversation.id}", questions


def _best(client: Client, question: Question) -> float:
    hits = client.recall(question.text, scope=tenant(question.store), top_k=50, probable_answer=False).hits
    found = [*hits.observations, *hits.turns]
    answers = [hit for hit in found if not question.answers or {hit.content, hit.msg_id} & question.answers]
    return max((hit.relevance for hit in answers), default=0.0)


def _row(values: Sequence[float]) -> list[str]:
    below = sum(value < RELEVANCE_FLOOR for value in values) / len(values)
    return [*(f"{value:.2f}" for value in np.quantile(values, QUANTILES)), f"{below:.0%}"]


if __name__ == "__main__":
    typer.run(relevance)
