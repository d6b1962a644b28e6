"""`remembrancer up`: start the service, in the foreground or detached."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import typer
from rich.console import Console

from remembrancer.cli.display import StartProgress, show_failure
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.ports import is_free
from remembrancer.cli.local.service import LocalService
from remembrancer.cli.local.state import AlreadyRunning, Phase, State, read_state
from remembrancer.cli.local.supervisor import StartFailed

EXIT_FAILED = 1
EXIT_USAGE = 2
USUAL_PORT = 7700
_POLL_S = 0.1


def up(console: Console, data: Path, gateway_port: int | None, *, foreground: bool) -> None:
    """Start the service; return when it is ready (detached) or has stopped (foreground).

    `gateway_port` 0 is a free one; None is the last one, else 7700, else a free one.
    """
    folder = DataFolder.at(data)
    state = read_state(folder)
    if state is not None and state.alive():
        say_running(console, state, folder)
        return
    if gateway_port is None:
        gateway_port = _usual_port(state)
    elif gateway_port and not is_free(gateway_port):
        console.print(f"[bold red]Port {gateway_port} is in use.[/] Choose another one, or 0 for a free one.")
        raise typer.Exit(EXIT_USAGE)
    run = _run_foreground if foreground else _run_detached
    run(console, folder, gateway_port)


def say_running(console: Console, state: State, folder: DataFolder) -> None:
    """Say that the service is running already, and where."""
    what = "is running already" if state.phase is Phase.READY else f"is {state.phase} already"
    console.print(f"Remembrancer {what}: [bold]{state.gateway}[/] (data in {folder.root})", highlight=False)


def _usual_port(last: State | None) -> int:
    ports = [int(last.gateway.rpartition(":")[2])] if last is not None else []
    return next((port for port in (*ports, USUAL_PORT) if is_free(port)), 0)


def _run_foreground(console: Console, folder: DataFolder, gateway_port: int) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    started = False
    try:
        with StartProgress(console) as progress:
            service = LocalService(folder.root, gateway_port, on_state=progress.update)
            service.start()
            started = True
        _say_ready(console, service.address, folder)
        console.print("Ctrl-C stops it.")
        # Not one long wait: a signal that another thread takes would not end it.
        while True:
            time.sleep(_POLL_S)
    except StartFailed as error:
        show_failure(console, str(error), error.log_tail, str(folder.logs))
        raise typer.Exit(EXIT_FAILED) from error
    except AlreadyRunning as error:
        if (state := read_state(folder)) is not None:
            say_running(console, state, folder)
        raise typer.Exit(EXIT_FAILED) from error
    except KeyboardInterrupt:
        console.print("Stopping.")
    finally:
        if started:
            service.stop()


def _run_detached(console: Console, folder: DataFolder, gateway_port: int) -> None:
    arguments = ["up", "--foreground", "--data", str(folder.root), "--gateway-port", str(gateway_port)]
    with folder.log("supervisor").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "remembrancer.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        with StartProgress(console) as progress:
            state = _await(process, folder, progress)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
        process.wait()
        console.print("Stopped.")
        raise typer.Exit(EXIT_FAILED) from None
    if state is not None and state.phase is Phase.READY:
        _say_ready(console, state.gateway, folder)
        return
    failure = state.failure if state is not None and state.failure else "the supervisor ended"
    show_failure(console, failure, state.log_tail if state is not None else "", str(folder.logs))
    raise typer.Exit(EXIT_FAILED)


def _await(process: subprocess.Popen[bytes], folder: DataFolder, progress: StartProgress) -> State | None:
    while True:
        ended = process.poll() is not None
        state = read_state(folder)
        # Two `up` at once: the one that lost the race reports the service of the other.
        if state is not None and (ended or state.supervisor.pid == process.pid):
            progress.update(state)
            if ended or state.phase is Phase.READY:
                return state
        if ended:
            return None
        time.sleep(_POLL_S)


def _say_ready(console: Console, address: str, folder: DataFolder) -> None:
    console.print(f"[bold green]Remembrancer is ready:[/] [bold]{address}[/]", highlight=False)
    console.print(f"data {folder.root}\nlogs {folder.logs}", highlight=False)
