"""`make bench-quality`: how well recall finds the turns that answer, and how honest probable answers are.

Starts the five processes in a temporary folder and talks to them through the public API only; the name of the encoder's
model is read from the store.
"""

from __future__ import annotations

import json
import tempfile
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import redis
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from bench import report
from bench.conversation_run import Asked, run, run_left_out, steps
from bench.dataset import Conversation, DatasetError, load
from remembrancer.cli.display import show_failure
from remembrancer.cli.local.service import LocalService
from remembrancer.cli.local.supervisor import StartFailed
from remembrancer.client import Client
from remembrancer.store.keys import CURRENT_MODEL


class Mode(StrEnum):
    """Which tiers are asked."""

    ACTIVE = "active"
    DEEP = "deep"


def quality(
    data: Annotated[Path, typer.Option(help="Folder of conversations.")],
    out: Annotated[Path, typer.Option(help="JSON file to write.")],
    mode: Annotated[Mode, typer.Option(help="Which tiers are asked.")] = Mode.ACTIVE,
) -> None:
    """Measure nDCG@10, Recall and the calibration of probable answers on a folder of conversations."""
    console = Console()
    try:
        conversations = load(data)
        if not out.absolute().parent.is_dir():
            raise DatasetError(f"{out.parent} is not a folder")
    except DatasetError as error:
        console.print(Text(str(error), "bold red"))
        raise typer.Exit(2) from error
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="remembrancer-bench-") as folder, LocalService(Path(folder)) as service:
            asked = _ask_all(console, service.address, conversations, mode)
            encoder = _encoder(service.plan.store_url)
    except StartFailed as error:
        show_failure(console, str(error), error.log_tail, "gone with the temporary folder")
        raise typer.Exit(1) from error
    turns = sum(len(conversation.turns) for conversation in conversations)
    result = report.figures(asked, mode, encoder, turns, time.monotonic() - began)
    out.write_text(json.dumps(result, indent=2) + "\n")
    console.print(report.table(result, asked))


def _ask_all(console: Console, address: str, conversations: list[Conversation], mode: Mode) -> list[Asked]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    asked: list[Asked] = []
    with Client.connect(address) as client, Progress(*columns, console=console) as progress:
        for conversation in conversations:
            task = progress.add_task(escape(conversation.id), total=steps(conversation))
            for ask in (run, run_left_out):
                asked += ask(client, conversation, mode, lambda task=task: progress.advance(task))  # type: ignore[misc]
    return asked


def _encoder(store_url: str) -> str:
    with redis.Redis.from_url(store_url) as store:
        model = store.get(CURRENT_MODEL)
    return model.decode() if isinstance(model, bytes) else "unknown"


if __name__ == "__main__":
    typer.run(quality)
