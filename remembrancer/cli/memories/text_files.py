"""Text files as people have them: UTF-8 with or without a mark at the beginning; UTF-16 is named, not guessed at."""

from __future__ import annotations

import codecs
import io
import sys
from typing import Final, NoReturn

import typer

from remembrancer.cli import exits

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def text_of(raw: bytes, name: str) -> str:
    """Return the text without its mark, every line ended by a newline alone; exit when it is no UTF-8."""
    refuse_other_encodings(raw, name)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(f"{name} is no UTF-8: {error}")
    return io.StringIO(text, newline=None).read()


def refuse_other_encodings(beginning: bytes, name: str) -> None:
    """Exit when a file begins like UTF-16 or UTF-32."""
    found = next((encoding for mark, encoding in _MARKS if beginning.startswith(mark)), "")
    if not found and b"\0" in beginning[:2]:
        found = "UTF-16 without a mark"
    if found:
        refuse(f"{name} looks like {found}; it must be UTF-8: iconv -f {found.split()[0]} -t UTF-8")


def refuse(line: str) -> NoReturn:
    """Say why a file is refused, and exit."""
    print(line, file=sys.stderr)
    raise typer.Exit(exits.USAGE)
