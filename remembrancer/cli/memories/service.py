"""Where the commands find the service."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from remembrancer.cli import exits
from remembrancer.cli.hints import not_running
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.state import read_state
from remembrancer.client import Client, ClientError, tenant
from remembrancer.client.arguments import ScopeLike

ORGANISATION = "org:"


@contextlib.contextmanager
def connected(target: str | None, token: str | None, data: Path) -> Iterator[Client]:
    """Yield a client of `target`, or of the service that runs from the data folder; exit with one line on failure."""
    if target is None:
        folder = DataFolder.named(data)
        state = read_state(folder)
        if state is None or not state.alive():
            print(f"{not_running(folder)}, or a service elsewhere with --target", file=sys.stderr)
            raise typer.Exit(exits.NOT_RUNNING)
        target = state.gateway
    try:
        with Client.connect(target, token) as client:
            yield client
    except ClientError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(exits.FAILED) from error
    except ValueError as error:
        # What the client refuses to send, such as an unknown type, and files that are no UTF-8.
        print(error, file=sys.stderr)
        raise typer.Exit(exits.USAGE) from error


def stateless(scope: str) -> ScopeLike | None:
    """Return the tenant form of a scope `org:<id>`, which is read without a session; None for any other."""
    name = scope.strip()
    return tenant(name.removeprefix(ORGANISATION)) if name.startswith(ORGANISATION) else None
