"""How commands show that they work, and print what came of it for scripts."""

from __future__ import annotations

import json
import sys
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from remembrancer.cli.terminal import takes_unicode


def bar(title: str, *, silent: bool) -> Progress:
    """Return a progress bar on the error stream, so that it never mixes with what is printed."""
    return Progress(
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=silent,
    )


def as_dict(message: Message) -> dict[str, Any]:
    """Return a message as JSON sees it, its fields named as in the proto."""
    found: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return found


def print_json(value: Any) -> None:
    """Print one JSON document on one line."""
    print(json.dumps(value, ensure_ascii=not takes_unicode(sys.stdout)))
