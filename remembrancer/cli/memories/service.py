"""Where the commands find the service, and how they say what it answered."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.state import read_state
from remembrancer.client import Client, ClientError, tenant
from remembrancer.client.arguments import ScopeLike

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_NOT_RUNNING = 3
ORGANISATION = "org:"


@contextlib.contextmanager
def connected(target: str | None, token: str | None, data: Path) -> Iterator[Client]:
    """Yield a client of `target`, or of the service that runs from the data folder; exit with one line on failure."""
    if target is None:
        state = read_state(DataFolder.named(data))
        if state is None or not state.alive():
            print(
                "Remembrancer is not running here; start it with `remembrancer up`, or name a --target", file=sys.stderr
            )
            raise typer.Exit(EXIT_NOT_RUNNING)
        target = state.gateway
    try:
        with Client.connect(target, token) as client:
            yield client
    except ClientError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(EXIT_FAILED) from error
    except ValueError as error:
        # What the client refuses to send, such as an unknown type, and files that are no UTF-8.
        print(error, file=sys.stderr)
        raise typer.Exit(EXIT_BAD_INPUT) from error


def stateless(scope: str) -> ScopeLike | None:
    """Return the tenant form of a scope `org:<id>`, which is read without a session; None for any other."""
    name = scope.strip()
    return tenant(name.removeprefix(ORGANISATION)) if name.startswith(ORGANISATION) else None


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
    print(json.dumps(value, ensure_ascii=False))
