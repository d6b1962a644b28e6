"""`remembrancer recall` and `remembrancer recent`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from remembrancer.cli.memories.service import stateless
from remembrancer.cli.output import as_dict, print_json
from remembrancer.cli.terminal import harmless
from remembrancer.client import Client, selection
from remembrancer.v1 import recall_pb2, record_pb2


def recall(
    client: Client, scope: str, query: str, mode: str, top_k: int, min_score: float | None, axes: dict[str, str],
    *, as_json: bool,
) -> None:  # fmt: skip
    """Recall and show; a path scope is looked at in a session of its own, which is abandoned after."""
    where = stateless(scope)
    if where is not None:
        answer = client.recall(query, scope=where, mode=mode, top_k=top_k, min_score=min_score, axes=axes)
    else:
        session = client.activate("look at memories", "see what fits a query", scope=scope, axes=axes).session_id
        try:
            answer = client.recall(
                query, scope=scope, session_id=session, mode=mode, top_k=top_k, min_score=min_score, axes=axes
            )
        finally:
            client.abandon_session(session, scope=scope)
    if as_json:
        print_json(as_dict(answer))
    else:
        _show_answer(answer, scope)


def recent(client: Client, scope: str, limit: int, axes: dict[str, str], *, hidden: bool, as_json: bool) -> None:
    """Show the newest memories, one JSON document a line with `as_json`."""
    left, token = limit, ""
    memories: list[record_pb2.MemoryRecord] = []
    while left:
        page = client.list_memories(
            scope=scope,
            selection=selection(axes=axes),
            include_suppressed=hidden,
            page_size=min(left, 500),
            page_token=token,
        )
        memories += page.memories
        left, token = limit - len(memories), page.next_page_token
        if not token:
            break
    if as_json:
        for memory in memories:
            print_json(as_dict(memory))
        return
    if not memories:
        unknown = not client.get_scope(scope=stateless(scope) or scope).scope_known
        whose = " ".join(f"{axis.removesuffix('_id')} {value}" for axis, value in axes.items())
        Console().print(Text(_unknown(scope) if unknown else f"no memories of {whose or 'the default agent'}"))
        return
    table = _table("id", "when", "who", "text")
    for memory in memories:
        when = memory.occurred_at.ToDatetime().strftime("%Y-%m-%d %H:%M")
        table.add_row(Text(memory.memory_id), when, _text(memory.name or memory.role), _text(memory.content))
    Console().print(table)


def _show_answer(answer: recall_pb2.RecallResponse, scope: str) -> None:
    table = _table("score", "id", "when", "who", "text")
    for hit in sorted([*answer.hits.observations, *answer.hits.turns], key=lambda h: -h.score):
        when = hit.occurred_at.ToDatetime().strftime("%Y-%m-%d %H:%M")
        # Only memories that were reached through the graph have a path, and they come on top of what was asked for.
        text = _text(hit.content).append(harmless("".join(f"\n└ {step}" for step in hit.why)), "magenta")
        table.add_row(f"{hit.score:.2f}", Text(hit.memory_id), when, _text(hit.name or hit.role), text)
    console = Console()
    if table.rows:
        console.print(table)
    else:
        console.print(Text("nothing found" if answer.scope_known else _unknown(scope)))
    for tier, field in (("active", "active_tier_error"), ("deep", "deep_tier_error")):
        if answer.HasField(field):  # type: ignore[arg-type]  # one of the two names above
            console.print(Text(f"the {tier} tier failed in whole or part: {getattr(answer, field).message}", "yellow"))
    for warning in answer.warnings:
        console.print(Text(warning.message, style="yellow"))


def _text(text: str) -> Text:
    """Return what somebody stored, for a terminal."""
    return Text(harmless(text))


def _unknown(scope: str) -> str:
    return f"nothing was ever written to {scope}"


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
