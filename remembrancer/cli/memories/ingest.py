"""`remembrancer ingest`: statements or conversation turns from a file, a line each."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import typer

from remembrancer.cli import exits
from remembrancer.cli.memories.lines import BadLine, Item, T, statements, turns
from remembrancer.cli.memories.text_files import refuse, text_of
from remembrancer.cli.memories.turn_ids import with_ids
from remembrancer.cli.output import bar, print_json
from remembrancer.client import Client, ClientError, InvalidArgument
from remembrancer.model.clock import parse_time
from remembrancer.v1 import common_pb2, memory_pb2

BATCH: Final = 100
"""As many as one call takes."""

_ITEM: Final = re.compile(r"(?:memories|turns)\[(\d+)\]\.?(.*)")

Answer = memory_pb2.RememberResponse | memory_pb2.RecordTurnsResponse


def read_lines(file: Path | None) -> list[str]:
    """Return the lines of a file; None and `-` are the standard input. Exit when it cannot be read, or is no UTF-8."""
    # Not `splitlines`, which also ends a line at characters that a text may hold.
    named = None if file is None or str(file) == "-" else file
    try:
        raw = sys.stdin.buffer.read() if named is None else named.read_bytes()
    except OSError as error:
        refuse(f"{file} cannot be read: {error.strerror}")
    return text_of(raw, "standard input" if named is None else str(named)).split("\n")


def ingest_statements(
    client: Client, scope: str, lines: list[str], type_: str, axes: dict[str, str], *, as_text: bool, as_json: bool
) -> None:
    """Store every line as a statement; print how many were new and how many were known."""
    items = list(statements(lines, type_, as_text=as_text))
    _store(items, lambda batch: client.remember(batch, scope=scope, axes=axes), as_json=as_json)


def ingest_turns(
    client: Client, scope: str, lines: list[str], axes: dict[str, str], *, as_text: bool, as_json: bool
) -> None:
    """Store every line as a turn; print how many were new and how many were known."""
    items = list(with_ids(turns(lines, as_text=as_text)))
    unread = sum(bool(item.message.timestamp) and parse_time(item.message.timestamp) is None for item in items)
    _store(items, lambda batch: client.record_turns(batch, scope=scope, axes=axes), as_json=as_json, unread=unread)


def _store(
    items: Sequence[Item[T]], store: Callable[[list[T]], Answer], *, as_json: bool, unread: int | None = None
) -> None:
    """Store items, and say what came of it; `unread` counts the turns whose time is not understood."""
    counts: Counter[str] = Counter()
    warnings: dict[str, str] = {}
    persisted = True
    try:
        with bar("storing", silent=as_json) as progress:
            task = progress.add_task("", total=len(items))
            for start in range(0, len(items), BATCH):
                batch = items[start : start + BATCH]
                answer = _sent(batch, start, store)
                for result in answer.results:
                    counts["created"] += result.disposition == memory_pb2.WRITE_DISPOSITION_CREATED
                    counts["matched"] += result.disposition == memory_pb2.WRITE_DISPOSITION_MATCHED
                    counts["unembedded"] += bool(result.memory_id) and not result.embedded
                persisted = persisted and answer.persisted
                for warning in answer.warnings:
                    # The places in this one count from the beginning of the batch; `unread` says the same of the file.
                    if warning.code != common_pb2.WARNING_CODE_TIME_UNCERTAIN:
                        name = common_pb2.WarningCode.Name(warning.code).removeprefix("WARNING_CODE_")
                        warnings.setdefault(name, warning.message)
                progress.advance(task, len(batch))
    except (ClientError, KeyboardInterrupt) as error:
        stored, interrupted = counts["created"] + counts["matched"], isinstance(error, KeyboardInterrupt)
        if stored or interrupted:
            _tell_stored(stored, len(items))
        if interrupted:
            raise typer.Exit(exits.INTERRUPTED) from None
        raise
    if as_json:
        told = [{"code": code, "message": message} for code, message in warnings.items()]
        found = {name: counts[name] for name in ("created", "matched", "unembedded")}
        times = {} if unread is None else {"times_not_understood": unread}
        print_json({**found, "persisted": persisted, **times, "warnings": told})
        return
    pause = "" if persisted else "; a pause kept some from being stored"
    print(f"{counts['created']} stored, {counts['matched']} known already{pause}")
    for code, message in warnings.items():
        print(f"{code}: {message}", file=sys.stderr)
    if unread:
        print(
            f"the times of {unread} turns are not understood; these have the time of their arrival. "
            "A timestamp is RFC 3339 or ISO 8601",
            file=sys.stderr,
        )


def _tell_stored(stored: int, total: int) -> None:
    """Say how far it came. Whether the batch under way is stored is not known when its answer did not come."""
    batch = f", and perhaps up to {min(BATCH, total - stored)} more" if stored < total else ""
    print(f"{stored} of {total} are stored{batch}; the same command again stores the rest", file=sys.stderr)


def _sent(batch: Sequence[Item[T]], before: int, store: Callable[[list[T]], Answer]) -> Answer:
    """Store a batch, all or nothing; when a line of it is refused, name the line, and say what is stored."""
    try:
        return store([item.message for item in batch])
    except InvalidArgument as error:
        for violation in error.violations:
            if (found := _ITEM.fullmatch(violation.field)) and int(found[1]) < len(batch):
                line = batch[int(found[1])].line
                stored = f"{before} before line {batch[0].line} are stored, none from there on"
                raise BadLine(line, f"{found[2]}: {violation.description}; {stored}") from error
        raise
