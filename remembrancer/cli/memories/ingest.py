"""`remembrancer ingest`: statements or conversation turns from a file, a line each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from remembrancer.cli import exits
from remembrancer.cli.output import bar, print_json
from remembrancer.client import Client, memory, turn
from remembrancer.v1 import memory_pb2

BATCH = 100
STATEMENT = frozenset({"content", "type"})
TURN = frozenset({"content", "role", "name", "timestamp", "msg_id"})
"""What a line may say of a statement and of a turn."""


def ingest(
    client: Client, scope: str, file: Path | None, type_: str, axes: dict[str, str], *, turns: bool, as_json: bool
) -> None:
    """Store every line; print how many were new and how many were known."""
    # Not `splitlines`, which also ends a line at characters that a text may hold.
    lines = (sys.stdin.read() if file is None else file.read_text(encoding="utf-8")).split("\n")
    known = TURN if turns else STATEMENT
    items = [parsed for number, line in enumerate(lines, 1) if (parsed := _parsed(number, line, known)) is not None]
    created = matched = waiting = 0
    persisted = True
    with bar("storing", silent=as_json) as progress:
        task = progress.add_task("", total=len(items))
        for batch in _batches(items):
            answer = _store(client, scope, batch, type_, axes, turns=turns)
            for result in answer.results:
                created += result.disposition == memory_pb2.WRITE_DISPOSITION_CREATED
                matched += result.disposition == memory_pb2.WRITE_DISPOSITION_MATCHED
                waiting += bool(result.memory_id) and not result.embedded
            persisted = persisted and answer.persisted
            progress.advance(task, len(batch))
    if as_json:
        print_json({"created": created, "matched": matched, "unembedded": waiting, "persisted": persisted})
    else:
        print(
            f"{created} stored, {matched} known already"
            + ("" if persisted else "; a pause kept some from being stored")
        )


def _store(
    client: Client, scope: str, batch: list[dict[str, Any]], type_: str, axes: dict[str, str], *, turns: bool
) -> memory_pb2.RememberResponse | memory_pb2.RecordTurnsResponse:
    if turns:
        return client.record_turns([turn(**item) for item in batch], scope=scope, axes=axes)
    return client.remember([memory(item.pop("type", type_), **item) for item in batch], scope=scope, axes=axes)


def _parsed(number: int, line: str, known: frozenset[str]) -> dict[str, Any] | None:
    """Return the fields of a line: a JSON object of `known` ones, or plain text; None for a blank line."""
    if not line.strip():
        return None
    if not line.lstrip().startswith("{"):
        return {"content": line}
    try:
        item = json.loads(line)
    except ValueError:
        return {"content": line}
    if "content" not in item or not set(item) <= known or not all(isinstance(value, str) for value in item.values()):
        print(f"line {number}: wants text under `content`, and of {', '.join(sorted(known))} only", file=sys.stderr)
        raise typer.Exit(exits.USAGE)
    return dict(item)


def _batches(items: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
