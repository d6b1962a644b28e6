"""`remembrancer up`: start the service, in the foreground or detached."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from remembrancer.cli import exits
from remembrancer.cli.display import StartProgress, show_failure
from remembrancer.cli.hints import near, program, typed, unnoted
from remembrancer.cli.ineffective import changed, other_model, overridden
from remembrancer.cli.local.child import mark_start, tail
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.ports import is_free, obstacle
from remembrancer.cli.local.service import LocalService
from remembrancer.cli.local.state import AlreadyRunning, Phase, State, read_state, unnoted_supervisor
from remembrancer.cli.local.supervisor import StartFailed
from remembrancer.cli.variables import unread
from remembrancer.client.config import EXAMPLE, TARGET

USUAL_PORT = 7700
_POLL_S = 0.1
_FIRST_NOTE_S = 3.0
"""How long a supervisor that has just taken the data folder may take to note that it runs."""


def up(console: Console, data: Path, gateway_port: int | None, *, foreground: bool) -> None:
    """Start the service; return when it is ready (detached) or has stopped (foreground).

    `gateway_port` 0 is a free one; None is the last one, else 7700, else a free one.
    """
    _warn(console, [*unread(), *overridden()])
    try:
        folder = DataFolder.at(data)
    except OSError as error:
        raise _unusable(console, data, error) from error
    state = _noted(console, folder)
    if state is not None and state.alive():
        _join(console, folder, state, gateway_port)
        return
    run = _run_foreground if foreground else _run_detached
    run(
        console,
        folder,
        usual_port(console, state) if gateway_port is None else _free(console, gateway_port),
        gateway_port,
    )


def _unusable(console: Console, data: Path, error: OSError) -> typer.Exit:
    _print(console, f"[bold red]The data folder {escape(str(data))} cannot be used:[/] {escape(str(error))}")
    return typer.Exit(exits.USAGE)


def _noted(console: Console, folder: DataFolder) -> State | None:
    """Return what the last supervisor noted; refuse when one runs and has noted nothing."""
    deadline = time.monotonic() + _FIRST_NOTE_S
    while (supervisor := unnoted_supervisor(folder)) is not None:
        if time.monotonic() >= deadline:
            _print(console, f"[bold red]{escape(unnoted(folder, supervisor))}[/]")
            raise typer.Exit(exits.FAILED)
        time.sleep(_POLL_S)
    return read_state(folder)


def _join(console: Console, folder: DataFolder, state: State, gateway_port: int | None) -> None:
    """Wait until a service that somebody else started is ready, and say where it is."""
    if gateway_port and not state.gateway.endswith(f":{gateway_port}"):
        stop = escape(typed("down", folder))
        _print(
            console, f"[bold red]Remembrancer runs at {escape(state.gateway)} already,[/] not on port {gateway_port}."
        )
        _print(console, f"Stop it first: {stop}")
        raise typer.Exit(exits.USAGE)
    with StartProgress(console) as progress:
        while state.alive() and state.phase is Phase.STARTING:
            progress.update(state)
            time.sleep(_POLL_S)
            state = read_state(folder) or state
        progress.update(state)
    if state.phase is not Phase.READY or not state.alive():
        _say_failed(console, folder, state)
        raise typer.Exit(exits.FAILED)
    _print(console, f"Remembrancer is running already: [bold]{escape(state.gateway)}[/]")
    _warn(console, changed(folder, state))
    _say_usage(console, state.gateway, folder)


def usual_port(console: Console, last: State | None) -> int:
    """Return the last port, else 7700, else 0 for a free one; say so when the first of them is in use."""
    ports = [int(last.gateway.rpartition(":")[2])] if last is not None else []
    first, *others = (*ports, USUAL_PORT)
    if not (why := obstacle(first)):
        return first
    port = next((port for port in others if is_free(port)), 0)
    _print(console, f"[bold yellow]Port {first} {escape(why)}:[/] taking {port or 'a free one'}.")
    return port


def _free(console: Console, gateway_port: int) -> int:
    if gateway_port and (why := obstacle(gateway_port)):
        _print(console, f"[bold red]Port {gateway_port} {escape(why)}.[/] Choose another one, or 0 for a free one.")
        raise typer.Exit(exits.USAGE)
    return gateway_port


def _run_foreground(console: Console, folder: DataFolder, port: int, asked: int | None) -> None:
    stop_on_signals()
    started = False
    try:
        with StartProgress(console) as progress:
            service = LocalService(folder.root, port, on_state=progress.update)
            service.start()
            started = True
        _say_ready(console, service.address, folder)
        console.print("Ctrl-C stops it.")
        # Not one long wait: a signal that another thread takes would not end it.
        while service.supervisor.supervising:
            time.sleep(_POLL_S)
        _print(console, "[bold red]The supervision broke down: all processes have ended.[/]")
        raise typer.Exit(exits.FAILED)
    except StartFailed as error:
        show_failure(console, str(error), error.log_tail, str(folder.logs))
        raise typer.Exit(error.code) from error
    except AlreadyRunning as error:
        if (state := read_state(folder)) is None:
            raise typer.Exit(exits.FAILED) from error
        _join(console, folder, state, asked)
    except OSError as error:
        raise _unusable(console, folder.root, error) from error
    except KeyboardInterrupt:
        console.print("Stopping.")
    finally:
        if started:
            service.stop()


def stop_on_signals() -> None:
    """Have SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt; SIGHUP not where `nohup` had it ignored."""
    # SIGINT also where it is ignored: a shell without job control starts background commands so.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _run_detached(console: Console, folder: DataFolder, port: int, asked: int | None) -> None:
    arguments = ["up", "--foreground", "--data", str(folder.root), "--gateway-port", str(port)]
    try:
        with folder.log("supervisor").open("ab") as log:
            mark_start(log)
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "remembrancer.cli", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise _unusable(console, folder.root, error) from error
    try:
        with StartProgress(console) as progress:
            state = _await(process, folder, progress)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
        process.wait()
        console.print("Stopped.")
        raise typer.Exit(exits.FAILED) from None
    if state is not None and state.supervisor.pid != process.pid and state.alive():
        # Two `up` at once: the one that lost the race waits for the service of the other.
        _join(console, folder, state, asked)
    elif state is not None and state.phase is Phase.READY:
        _say_ready(console, state.gateway, folder)
    else:
        _say_failed(console, folder, state)
        raise typer.Exit(exits.USAGE if process.returncode == exits.USAGE else exits.FAILED)


def _await(process: subprocess.Popen[bytes], folder: DataFolder, progress: StartProgress) -> State | None:
    while True:
        ended = process.poll() is not None
        state = read_state(folder)
        if state is not None and state.supervisor.pid == process.pid:
            progress.update(state)
            if ended or state.phase is Phase.READY:
                return state
        elif ended or (state is not None and state.alive()):
            return state if state is not None and state.alive() else None
        time.sleep(_POLL_S)


def _say_ready(console: Console, address: str, folder: DataFolder) -> None:
    _print(console, f"[bold green]Remembrancer is ready:[/] [bold]{escape(address)}[/]")
    if (state := read_state(folder)) is not None:
        _warn(console, other_model(folder, state))
    _say_usage(console, address, folder)


def _say_usage(console: Console, address: str, folder: DataFolder) -> None:
    if (sought := os.environ.get(TARGET) or EXAMPLE) != address:
        _print(
            console, f"[bold yellow]Clients and samples look for it at {escape(sought)}.[/] Before you run them, type:"
        )
        _print(console, f"[bold]export {TARGET}={escape(address)}[/]")
    for what, value in (
        ("data", str(folder.root)),
        ("logs", str(folder.logs)),
        ("what runs:", typed("status", folder)),
        ("stop it:", typed("down", folder)),
    ):
        _print(console, f"{what} {escape(value)}")
    if (activate := Path(sys.executable).parent / "activate").exists() and program() != ["remembrancer"]:
        _print(console, f"After `source {escape(near(activate))}`, `remembrancer` alone is enough.")


def _say_failed(console: Console, folder: DataFolder, state: State | None) -> None:
    failure = state.failure if state is not None and state.failure else "the supervisor ended"
    log_tail = state.log_tail if state is not None else tail(folder.log("supervisor"))
    show_failure(console, failure, log_tail, str(folder.logs))


def _warn(console: Console, lines: list[str]) -> None:
    for line in lines:
        _print(console, f"[yellow]{escape(line)}[/]")


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)
