"""A file, or what comes through a pipe, that `remembrancer export` wrote."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from google.protobuf import json_format

from remembrancer.cli.memories.text_files import refuse, refuse_other_encodings
from remembrancer.model.errors import InvalidField
from remembrancer.model.transfer import check_batch, check_header
from remembrancer.v1 import transfer_pb2


@contextlib.contextmanager
def opened(file: Path) -> Iterator[IO[bytes]]:
    """Yield the content, which can be read again and again: a pipe, which gives it once, is copied first."""
    with contextlib.ExitStack() as stack:
        try:
            content: IO[bytes] = stack.enter_context(file.open("rb"))
            if not file.is_file():
                copy = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(content, copy)
                content = copy
        except OSError as error:
            refuse(f"{file} cannot be read: {error.strerror}")
        yield content


def checked(content: IO[bytes], file: Path, *, incomplete: bool) -> int:
    """Return how many records a file holds; exit when the service would refuse it, or it is not what its header says.

    With `incomplete`, records may be missing.
    """
    content.seek(0)
    refuse_other_encodings(content.read(4), str(file))
    parts = parts_of(content)
    header = next(parts, transfer_pb2.ExportResponse()).header
    if not header.format:
        refuse(f"{file} is not an export: its first line is no header")
    records = upto = 0
    number = 1
    try:
        check_header(header, "header")
        for number, part in enumerate(parts, 2):
            if not part.HasField("batch"):
                refuse(f"line {number} of {file} begins another export; each export is imported from a file of its own")
            check_batch(part.batch, header.last_number, upto, "batch")
            records, upto = records + len(part.batch.records), part.batch.upto
    except InvalidField as error:
        wrong = error.violations[0]
        refuse(f"line {number} is not a part of an export that can be imported: {wrong.field} {wrong.description}")
    # Both: only the last line says how far a file goes, and only the count tells that one in between is missing.
    if not incomplete and (upto < header.last_number or records < header.records):
        refuse(
            f"{file} is not whole: {records} of {header.records} records, up to number {upto} of {header.last_number}. "
            "If what there is is wanted, or memories were forgotten while it was exported: --incomplete"
        )
    return records


def parts_of(content: IO[bytes]) -> Iterator[transfer_pb2.ExportResponse]:
    """Yield what each line says, from the beginning; exit at one that is no part of an export."""
    content.seek(0)
    for number, line in enumerate(content, 1):
        text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            yield json_format.Parse(text.decode(), transfer_pb2.ExportResponse())
        except (json_format.ParseError, UnicodeDecodeError):
            refuse(f"line {number} is not a part of an export")


def digest_of(content: IO[bytes]) -> str:
    """Return the digest of the whole content, in hexadecimal."""
    content.seek(0)
    found = hashlib.sha256()
    while piece := content.read(1 << 20):
        found.update(piece)
    return found.hexdigest()
