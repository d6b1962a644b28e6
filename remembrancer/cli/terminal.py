"""What terminals and files are given: an encoding that they can take, and no control sequences of others."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata
from typing import TextIO


def prepare_output() -> None:
    """Write UTF-8 into files and pipes, whatever the locale; on a terminal, `?` for what its encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def takes_unicode(stream: TextIO) -> bool:
    """Return whether every character can be written as it is."""
    return codecs.lookup(stream.encoding or "ascii").name == "utf-8"


def harmless(text: str) -> str:
    """Return a text for a terminal: control characters other than newline and tab are shown by their numbers."""
    return "".join(f"\\x{ord(c):02x}" if unicodedata.category(c) == "Cc" and c not in "\n\t" else c for c in text)
