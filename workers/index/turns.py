"""Which turn comes before and after which in its conversation."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final

import numpy as np
from numpy.typing import NDArray

from remembrancer.internal.v1 import store_pb2
from workers.index.column import Column
from workers.index.table import microseconds

PAUSE_US: Final = 6 * 3600 * 1_000_000
"""Turns further apart than this, in microseconds, belong to two sittings and lend each other nothing."""

TURN_BYTES: Final = 400
"""Measured size of one turn's place in its conversation."""

Conversation = tuple[str, str, str, str, str, str]


class Turns:
    """The order of the turns of each conversation: by N, which is write order."""

    def __init__(self) -> None:
        """Start empty."""
        self._conversations: dict[Conversation, list[tuple[int, int]]] = {}
        self._of_slot: dict[int, tuple[Conversation, int]] = {}
        self._times: dict[int, int | None] = {}
        self._before = Column(np.int32)
        self._after = Column(np.int32)

    @property
    def before(self) -> NDArray[np.int32]:
        """By slot, the slot of the turn before; -1 for none."""
        return self._before.values

    @property
    def after(self) -> NDArray[np.int32]:
        """By slot, the slot of the turn after; -1 for none."""
        return self._after.values

    def add(self, slot: int, n: int, record: store_pb2.Record) -> None:
        """Take in the next slot; records that are no turns stand alone."""
        self._before.append(-1)
        self._after.append(-1)
        if record.kind != store_pb2.RECORD_KIND_TURN:
            return
        conversation = _conversation(record)
        self._of_slot[slot] = (conversation, n)
        self._times[slot] = None if record.time_uncertain else microseconds(record.occurred_at)
        members = self._conversations.setdefault(conversation, [])
        insort(members, (n, slot))
        at = bisect_left(members, (n, slot))
        if at > 0:
            self._link(members[at - 1][1], slot)
        if at + 1 < len(members):
            self._link(slot, members[at + 1][1])

    def remove(self, slot: int) -> None:
        """Close the gap that a turn leaves."""
        entry = self._of_slot.pop(slot, None)
        if entry is None:
            return
        conversation, n = entry
        del self._times[slot]
        members = self._conversations[conversation]
        at = bisect_left(members, (n, slot))
        del members[at]
        self.before[slot] = self.after[slot] = -1
        first = members[at - 1][1] if at > 0 else -1
        second = members[at][1] if at < len(members) else -1
        if first >= 0 and second >= 0:
            self._link(first, second)
        elif first >= 0:
            self.after[first] = -1
        elif second >= 0:
            self.before[second] = -1
        else:
            del self._conversations[conversation]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the slots where `mask` is false, all of which were removed before."""
        moved = np.cumsum(mask, dtype=np.int32) - 1
        for column in (self._before, self._after):
            column.keep(mask)
            linked = column.values >= 0
            column.values[linked] = moved[column.values[linked]]
        self._of_slot = {int(moved[slot]): entry for slot, entry in self._of_slot.items()}
        self._times = {int(moved[slot]): time for slot, time in self._times.items()}
        for members in self._conversations.values():
            members[:] = [(n, int(moved[slot])) for n, slot in members]

    def nbytes(self) -> int:
        """Return about how much memory this holds."""
        return self._before.nbytes + self._after.nbytes + TURN_BYTES * len(self._of_slot)

    def _link(self, first: int, second: int) -> None:
        one, two = self._times[first], self._times[second]
        if one is not None and two is not None and abs(two - one) > PAUSE_US:
            self.after[first] = self.before[second] = -1
        else:
            self.after[first], self.before[second] = second, first


def _conversation(record: store_pb2.Record) -> Conversation:
    axes = record.axes
    session = "" if axes.conversation_id else record.session_id
    return (axes.agent_id, axes.user_id, axes.conversation_id, axes.project_id, axes.channel, session)
