"""`remembrancer demo`: a throw-away service, the story, and the verdict."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import typer
from rich.console import Console

from remembrancer.cli import exits
from remembrancer.cli.demo import conversation
from remembrancer.cli.demo.show import Narrator
from remembrancer.cli.demo.story import Story
from remembrancer.cli.display import StartProgress, show_failure
from remembrancer.cli.local.service import LocalService
from remembrancer.cli.local.supervisor import StartFailed
from remembrancer.client import Client, ClientError


def demo(console: Console) -> None:
    """Tell the story; exit 1 unless every step showed what it should."""
    began = time.monotonic()
    narrator = Narrator(console)
    narrator.chapter("Remembrancer", "Five processes on this machine, in a temporary folder.")
    try:
        with tempfile.TemporaryDirectory(prefix="remembrancer-demo-") as folder:
            service = LocalService(Path(folder), on_state=(progress := StartProgress(console)).update)
            with progress:
                service.start()
            try:
                with Client.connect(service.address) as client:
                    Story(client, service.supervisor, narrator, conversation.load()).tell()
            finally:
                service.stop()
    except StartFailed as error:
        show_failure(console, str(error), error.log_tail, "gone with the temporary folder")
        raise typer.Exit(error.code) from error
    except ClientError as error:
        narrator.expect(f"every call succeeds ({error})", held=False)
    console.print()
    if narrator.failed:
        console.print(f"[bold red]{len(narrator.failed)} steps did not show what they should.[/]")
        raise typer.Exit(exits.FAILED)
    console.print(f"[bold green]Every step showed what it should[/] ({time.monotonic() - began:.0f} s).")
