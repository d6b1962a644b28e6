"""What the terminal shows while the service starts, and when something went wrong."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.state import State

_PREPARE = "model"


class StartProgress:
    """A line per process until all are ready; a context manager."""

    def __init__(self, console: Console) -> None:
        """Take where to show it; without a terminal only the final lines are printed."""
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description:<8}", markup=False),
            TextColumn("{task.fields[note]}", style="dim", markup=False),
            TimeElapsedColumn(),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}

    def update(self, state: State) -> None:
        """Show what a state says."""
        roles = [role for name in Role if (role := state.roles.get(name)) is not None]
        self._show(_PREPARE, "", done=any(role.starts for role in roles))
        for name in Role:
            role = state.roles.get(name)
            if role is not None and role.starts:
                self._show(name, role.address, done=role.ready)

    def __enter__(self) -> StartProgress:
        """Begin to draw."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last picture on the screen."""
        self._progress.stop()

    def _show(self, name: str, note: str, *, done: bool) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=1, note=note)
        self._progress.update(self._tasks[name], completed=int(done), note=note)


def show_failure(console: Console, failure: str, log_tail: str, logs: str) -> None:
    """Say what failed, with the end of its log."""
    console.print(f"[bold red]The service did not start:[/] {escape(failure)}", highlight=False, soft_wrap=True)
    if log_tail:
        console.print(Panel(Text(log_tail), title="end of its log", border_style="red"))
    console.print(f"logs: {escape(logs)}", highlight=False, soft_wrap=True)
