"""`remembrancer export` and `remembrancer import`: a scope as JSON Lines, the header first."""

from __future__ import annotations

import contextlib
import hashlib
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
    """Write a scope to a file, or to the standard output. A file appears only once it is whole."""
    silent = as_json or file is None
    count = 0
    with _output(file) as output, bar("exporting", silent=silent) as progress:
        task = progress.add_task("", total=None)
        for part in client.export_scope(scope=scope):
            if part.HasField("header"):
                progress.update(task, total=part.header.records)
            output.write(json_format.MessageToJson(part, indent=None, ensure_ascii=False) + "\n")
            count += len(part.batch.records)
            progress.advance(task, len(part.batch.records))
    if as_json and file is not None:
        print_json({"records": count})


def import_scope(client: Client, scope: str, file: Path, *, as_json: bool) -> None:
    """Fill a new scope from a file. The file's digest names the import: the same command again resumes it."""
    # Read to its end first: once a damaged file was imported in part, the mended one would find the scope not empty.
    total = sum(len(part.batch.records) for part in _parts(file))
    answer = transfer_pb2.ImportResponse()
    with bar("importing", silent=as_json) as progress:
        task = progress.add_task("", total=total)
        for answer in client.import_scope(_parts(file), scope=scope, import_id=_digest(file)):
            progress.update(task, completed=answer.imported)
    if as_json:
        print_json(as_dict(answer))
    else:
        print(f"{answer.imported} records imported")


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
