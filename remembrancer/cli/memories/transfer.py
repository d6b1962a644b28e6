"""`remembrancer export` and `remembrancer import`: a scope as JSON Lines, the header first."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import typer
from google.protobuf import json_format

from remembrancer.cli import exits
from remembrancer.cli.output import as_dict, bar, print_json
from remembrancer.client import Client
from remembrancer.v1 import transfer_pb2


def export_scope(client: Client, scope: str, file: Path | None, *, as_json: bool) -> None:
    """Write a scope to a file, or to the standard output. A file appears only once it is whole.

    A scope that was never written to is refused: a backup of a mistyped name must not look like one that was made.
    """
    silent = as_json or file is None
    count = 0
    parts = client.export_scope(scope=scope)
    first = next(parts)
    if not first.header.last_number:
        print(f"nothing was ever written to {first.header.scope}; no export is made", file=sys.stderr)
        raise typer.Exit(exits.FAILED)
    with _output(file) as output, bar("exporting", silent=silent) as progress:
        task = progress.add_task("", total=first.header.records)
        for part in itertools.chain([first], parts):
            output.write(json_format.MessageToJson(part, indent=None, ensure_ascii=False) + "\n")
            count += len(part.batch.records)
            progress.advance(task, len(part.batch.records))
    if as_json and file is not None:
        print_json({"records": count})


def import_scope(client: Client, scope: str, file: Path, *, incomplete: bool, as_json: bool) -> None:
    """Fill a new scope from a file. The file's digest names the import: the same command again resumes it.

    A file with less than its header says is refused unless `incomplete`.
    """
    # Read to its end first: once a damaged file was imported in part, the mended one would find the scope not empty.
    total = _records(file, incomplete=incomplete)
    before: bool | None = None
    answer = transfer_pb2.ImportResponse()
    with bar("importing", silent=as_json) as progress:
        task = progress.add_task("", total=total)
        for answer in client.import_scope(_parts(file), scope=scope, import_id=_digest(file)):
            before = answer.complete if before is None else before
            progress.update(task, completed=answer.imported)
    if as_json:
        print_json({**as_dict(answer), "complete_before": bool(before)})
    elif before:
        print(f"nothing to do: this import was complete before, with {answer.imported} records")
    else:
        print(f"{answer.imported} records imported")


def _records(file: Path, *, incomplete: bool) -> int:
    """Return how many records a file holds; exit when that is not what its header says."""
    parts = _parts(file)
    header = next(parts, transfer_pb2.ExportResponse()).header
    if not header.format:
        print(f"{file} is not an export: its first line is no header", file=sys.stderr)
        raise typer.Exit(exits.USAGE)
    records = upto = 0
    for part in parts:
        records, upto = records + len(part.batch.records), part.batch.upto
    # Both: only the last line says how far a file goes, and only the count tells that one in between is missing.
    if not incomplete and (upto < header.last_number or records < header.records):
        print(
            f"{file} is not whole: {records} of {header.records} records, up to number {upto} of {header.last_number}. "
            "If what there is is wanted, or memories were forgotten while it was exported: --incomplete",
            file=sys.stderr,
        )
        raise typer.Exit(exits.USAGE)
    return records


def _parts(file: Path) -> Iterator[transfer_pb2.ExportResponse]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield json_format.Parse(line, transfer_pb2.ExportResponse())
            except json_format.ParseError as error:
                print(f"line {number} is not a part of an export", file=sys.stderr)
                raise typer.Exit(exits.USAGE) from error


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@contextlib.contextmanager
def _output(file: Path | None) -> Iterator[TextIO]:
    if file is None:
        yield sys.stdout
        return
    if file.exists():
        print(f"{file} exists already", file=sys.stderr)
        raise typer.Exit(exits.USAGE)
    draft = file.with_name(f"{file.name}.part")
    try:
        opened = draft.open("w", encoding="utf-8")
    except OSError as error:
        print(f"{file} cannot be written: {error.strerror}", file=sys.stderr)
        raise typer.Exit(exits.USAGE) from error
    with opened as output:
        yield output
    draft.replace(file)
