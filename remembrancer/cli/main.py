"""The command line: what can be typed, and what each command is handed."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from remembrancer.cli import exits
from remembrancer.cli.demo.command import demo as tell_story
from remembrancer.cli.down import down as stop_service
from remembrancer.cli.local.folder import NoFolder, default_data_folder
from remembrancer.cli.memories.commands import register
from remembrancer.cli.reindex.command import reindex_command
from remembrancer.cli.repair import repair as repair_store
from remembrancer.cli.run import RunnableRole
from remembrancer.cli.run import run as become
from remembrancer.cli.status import status as show_status
from remembrancer.cli.terminal import prepare_output
from remembrancer.cli.up import up as start_service

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Data folder. Default: $REMEMBRANCER_DATA, else $XDG_DATA_HOME/remembrancer.",
        show_default=False,
    ),
]


def main() -> None:
    """Run the command that was typed."""
    prepare_output()
    try:
        build_app()()
    except NoFolder as error:
        print(error, file=sys.stderr)
        sys.exit(exits.USAGE)


def build_app() -> typer.Typer:
    """Return the command line application."""
    app = typer.Typer(
        name="remembrancer",
        help="A memory service for AI-agent back ends: typed recall from two tiers, with a feedback ledger.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
    )
    app.callback()(_root)
    for command in (up, down, status, repair, demo, run):
        app.command()(command)
    register(app)
    app.command("reindex")(reindex_command)
    return app


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=lambda value: _print_version(value), help="Print the version.")
    ] = False,
) -> None: ...


def _print_version(value: bool) -> None:
    if value:
        print(f"remembrancer {importlib.metadata.version('remembrancer')}")
        raise typer.Exit


def up(
    data: DataOption = None,
    gateway_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port of the public API on 127.0.0.1; 0: a free one. Default: the last one, else 7700 or a free one.",
            show_default=False,
        ),
    ] = None,
    foreground: Annotated[
        bool, typer.Option("--foreground/--detach", help="Stay until Ctrl-C, or return when all is ready.")
    ] = False,
) -> None:
    """Start the service on this machine: store, encoder, active and deep worker, gateway."""
    start_service(Console(), data or default_data_folder(), gateway_port, foreground=foreground)


def down(data: DataOption = None) -> None:
    """Stop the service; what was acknowledged is kept in the data folder."""
    stop_service(Console(), data or default_data_folder())


def status(data: DataOption = None) -> None:
    """Show every process, asked live. Exit code: 0 all ready, 1 some not, 3 not running."""
    show_status(Console(), data or default_data_folder())


def repair(data: DataOption = None) -> None:
    """Make a damaged append-only file loadable again: cut it off at the damage. A copy of the store is kept.

    Needed only when the service does not start because of the damage.
    """
    repair_store(Console(), data or default_data_folder())


def demo() -> None:
    """Start a throw-away service, tell a story with it, stop it. Exit code 0: every step showed what it should."""
    tell_story(Console())


def run(role: Annotated[RunnableRole, typer.Argument(help="Which process.")]) -> None:
    """Become one process of the service, configured by REMEMBRANCER_ variables, as containers do."""
    become(role)
