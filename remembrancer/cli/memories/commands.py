"""The commands as they are typed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from remembrancer.cli.local.folder import default_data_folder
from remembrancer.cli.memories.ingest import ingest_statements, ingest_turns, read_lines
from remembrancer.cli.memories.look import recall as show_recall
from remembrancer.cli.memories.look import recent as show_recent
from remembrancer.cli.memories.service import connected
from remembrancer.cli.memories.transfer import export_scope, import_scope
from remembrancer.cli.output import print_json
from remembrancer.cli.variables import TOKEN
from remembrancer.client import selection
from remembrancer.client.config import TARGET

Scope = Annotated[str, typer.Argument(help="Scope such as project:apollo, or org:ID for an organisation.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and no progress bar.")]
Target = Annotated[
    str | None,
    typer.Option(envvar=TARGET, help="host:port of the service. Default: the one that runs here."),
]
Token = Annotated[str | None, typer.Option(envvar=TOKEN, help="Credentials.", show_default=False)]
Data = Annotated[Path | None, typer.Option("--data", help="Data folder of the service here.", show_default=False)]
Agent = Annotated[str | None, typer.Option(help="The agent whose memories are meant.", show_default="default-agent")]
User = Annotated[str | None, typer.Option(help="The user they belong to.")]


class Mode(StrEnum):
    """Which tiers are asked."""

    ACTIVE = "active"
    DEEP = "deep"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (ingest, recall, recent, forget, restore):
        app.command()(command)
    app.command("export")(export)
    app.command("import")(import_)


def ingest(
    scope: Scope,
    file: Annotated[Path | None, typer.Argument(help="Default, and -: standard input.")] = None,
    type_: Annotated[str, typer.Option("--type", help="Type of statements that name none.")] = "fact",
    turns: Annotated[bool, typer.Option("--turns", help="Lines are conversation turns, not statements.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Lines are text, also those that look like JSON.")] = False,
    agent: Agent = None,
    user: User = None,
    conversation: Annotated[str | None, typer.Option(help="The conversation they belong to.")] = None,
    as_json: Json = False,
    target: Target = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Store a file, a statement or turn a line: plain text, or a JSON object.

    Keys of a statement: content, type, occurred_at. Keys of a turn: content, role, name, timestamp, msg_id. All values
    are text, times in RFC 3339 or ISO 8601.

    The same file again stores nothing twice, also after Ctrl-C or with new lines at its end. A turn without msg_id and
    time is known by its text and by all turns before it in the file.
    """
    lines = read_lines(file)
    axes = _axes(agent_id=agent, user_id=user, conversation_id=conversation)
    with connected(target, token, data or default_data_folder()) as client:
        if turns:
            ingest_turns(client, scope, lines, axes, as_text=text, as_json=as_json)
        else:
            ingest_statements(client, scope, lines, type_, axes, as_text=text, as_json=as_json)


def recall(
    scope: Scope,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    mode: Annotated[Mode, typer.Option(help="One tier or both.")] = Mode.ACTIVE,
    top_k: Annotated[
        int, typer.Option(min=1, max=50, help="Most memories; up to 10 that --mode deep reached by a path come on top.")
    ] = 10,
    min_score: Annotated[float | None, typer.Option(min=0, max=1, help="Lowest relevance.")] = None,
    agent: Agent = None,
    user: User = None,
    as_json: Json = False,
    target: Target = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Show what fits a query.

    Recalls are written to a session's ledger: each of a path scope opens a session for the task "look at memories" and
    abandons it; ListSessions shows it as long as ended sessions are kept. A scope org:ID is read without one.
    """
    with connected(target, token, data or default_data_folder()) as client:
        show_recall(client, scope, query, mode, top_k, min_score, _axes(agent_id=agent, user_id=user), as_json=as_json)


def recent(
    scope: Scope,
    limit: Annotated[int, typer.Option(min=1, max=10000)] = 20,
    hidden: Annotated[bool, typer.Option("--hidden", help="Also what was hidden with `forget --suppress`.")] = False,
    agent: Agent = None,
    user: User = None,
    as_json: Json = False,
    target: Target = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Show the newest memories."""
    with connected(target, token, data or default_data_folder()) as client:
        show_recent(client, scope, limit, _axes(agent_id=agent, user_id=user), hidden=hidden, as_json=as_json)


def forget(
    scope: Scope,
    memory_id: Annotated[str | None, typer.Argument(help="One memory, such as sch_12.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="The whole scope.")] = False,
    agent: Agent = None,
    user: Annotated[
        str | None, typer.Option(help="All memories of a user, whichever agent has them unless --agent names one.")
    ] = None,
    suppress: Annotated[
        bool, typer.Option("--suppress", help="Only hide; `restore` brings a memory back, `recent --hidden` shows it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
    target: Target = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Erase one memory, a user's memories, or a whole scope."""
    named = (memory_id is not None) + (user is not None) + everything
    if not named:
        raise typer.BadParameter("name what to forget: a memory, a --user, or --everything")
    if named > 1:
        raise typer.BadParameter("name only one of: a memory, a --user, --everything")
    if everything and (agent is not None or suppress):
        raise typer.BadParameter("--everything is the whole scope, erased: it goes without --agent and --suppress")
    axes = _axes(agent_id=agent, user_id=user)
    with connected(target, token, data or default_data_folder()) as client:
        if memory_id is None and not yes:
            client.wait_connected()
            what = "everything" if everything else f"all of {user}"
            typer.confirm(f"{'Hide' if suppress else 'Erase'} {what} in {scope}?", abort=True, err=True)
        answer = client.forget(
            memory_id,
            scope=scope,
            selection=selection(axes=axes, any_axis=["agent_id"] if agent is None else []) if user else None,
            whole_scope=everything or None,
            axes=axes if memory_id is not None and axes else None,
            suppress=suppress,
        )
    if as_json:
        print_json({"forgotten": answer.forgotten, "erasing": answer.erasing})
    else:
        print(f"{answer.forgotten} {'hidden' if suppress else 'erased'}")


def restore(
    scope: Scope,
    memory_id: Annotated[str, typer.Argument(help="A memory or procedure that was hidden or became stale.")],
    agent: Agent = None,
    user: User = None,
    as_json: Json = False,
    target: Target = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Bring back a memory that `forget --suppress` hid, or that was declared stale."""
    with connected(target, token, data or default_data_folder()) as client:
        answer = client.restore_memory(memory_id, scope=scope, axes=_axes(agent_id=agent, user_id=user))
    if as_json:
        print_json({"restored": answer.restored})
    else:
        print("restored" if answer.restored else f"{memory_id} was there all the time")


def export(
    scope: Scope,
    file: Annotated[Path | None, typer.Argument(help="Default: standard output.")] = None,
    as_json: Json = False,
    target: Target = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Write everything that a scope holds as JSON Lines; sessions and ledgers are not exported.

    Exit code 1, and no file, when nothing was ever written to the scope.
    """
    with connected(target, token, data or default_data_folder()) as client:
        export_scope(client, scope, file, as_json=as_json)


def import_(
    scope: Scope,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What export wrote.")],
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Take a file that holds less than its header says.")
    ] = False,
    as_json: Json = False,
    target: Target = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Fill a scope that was never written to. The same command again resumes an import that broke off."""
    with connected(target, token, data or default_data_folder()) as client:
        import_scope(client, scope, file, incomplete=incomplete, as_json=as_json)


def _axes(**axes: str | None) -> dict[str, str]:
    return {name: value for name, value in axes.items() if value is not None}
