"""Message ids for turns of a file that nothing else tells apart, so that the same file again stores nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from remembrancer.cli.memories.lines import Item
from remembrancer.model.clock import parse_time
from remembrancer.store.keys import digest
from remembrancer.v1 import memory_pb2

PREFIX = "ingest:"


def with_ids(turns: Iterable[Item[memory_pb2.TurnInput]]) -> Iterator[Item[memory_pb2.TurnInput]]:
    """Yield the turns; one that has neither a message id nor a readable time gets an id.

    The id is a digest of the turn and of all turns before it. A second "Yes." in a file gets another id than the first,
    and so does one in another file. A file that has grown at its end keeps the ids of its earlier turns.
    """
    so_far = ""
    for item in turns:
        turn = item.message
        so_far = digest(so_far, turn.SerializeToString(deterministic=True))
        if not turn.msg_id and parse_time(turn.timestamp) is None:
            turn.msg_id = PREFIX + so_far
        yield item
