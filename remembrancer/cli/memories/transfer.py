"""`remembrancer export` and `remembrancer import`: a scope as JSON Lines, the header first."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import typer
from google.protobuf import json_format

from remembrancer.cli import exits
from remembrancer.cli.memories.export_file import checked, digest_of, opened, parts_of
from remembrancer.cli.memories.text_files import refuse
from remembrancer.cli.output import as_dict, bar, print_json
from remembrancer.cli.terminal import takes_unicode
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
            output.write(json_format.MessageToJson(part, indent=None, ensure_ascii=not takes_unicode(output)) + "\n")
            count += len(part.batch.records)
            progress.advance(task, len(part.batch.records))
    if as_json and file is not None:
        print_json({"records": count})


def import_scope(client: Client, scope: str, file: Path, *, incomplete: bool, as_json: bool) -> None:
    """Fill a new scope from a file or a pipe. The content's digest names the import: the same again resumes it.

    A file with less than its header says is refused unless `incomplete`.
    """
    before: bool | None = None
    answer = transfer_pb2.ImportResponse()
    with opened(file) as content:
        # Read to its end first: once a part of a damaged file was imported, the mended one finds the scope not empty.
        total = checked(content, file, incomplete=incomplete)
        with bar("importing", silent=as_json) as progress:
            task = progress.add_task("", total=total)
            for answer in client.import_scope(parts_of(content), scope=scope, import_id=digest_of(content)):
                before = answer.complete if before is None else before
                progress.update(task, completed=answer.imported)
    if as_json:
        print_json({**as_dict(answer), "complete_before": bool(before)})
    elif before:
        print(f"nothing to do: this import was complete before, with {answer.imported} records")
    else:
        print(f"{answer.imported} records imported")


@contextlib.contextmanager
def _output(file: Path | None) -> Iterator[TextIO]:
    """Yield where to write; the file is there once it is whole and on the disk, else nothing stays behind."""
    if file is None:
        yield sys.stdout
        return
    if file.exists():
        refuse(f"{file} exists already")
    draft = file.with_name(f"{file.name}.part")
    try:
        output = draft.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        refuse(f"{file} cannot be written: {error.strerror}")
    try:
        with output:
            yield output
            output.flush()
            os.fsync(output.fileno())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
