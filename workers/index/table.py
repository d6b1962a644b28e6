"""Metadata of the records of one partition in columns, and the filter over them.

Every applied state of a record gets a slot of its own; the slot of its former state is dead from then on. Dead slots
go when the partition is compacted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from google.protobuf import timestamp_pb2
from numpy.typing import NDArray

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.analysis import text_key
from remembrancer.model.axes import DEFAULT_AGENT
from remembrancer.model.particulars import particulars_key, statement_key
from remembrancer.model.text import fold
from remembrancer.v1 import common_pb2
from workers.index.column import Column

SHOWN_WHEN_ASKED: Final = (common_pb2.STALE_REASON_SUPERSEDED, common_pb2.STALE_REASON_OUTDATED)
"""Why a stale record may still be returned with `include_superseded`."""

MEMORIES: Final = (store_pb2.RECORD_KIND_OBSERVATION, store_pb2.RECORD_KIND_TURN, store_pb2.RECORD_KIND_EPISODE)
"""Kinds with the same numbers as MemoryKind; a procedure is no memory."""


SLOT_BYTES: Final = 120
"""About the size of one N with its slot, columns apart."""


NANOS: Final = 1000
"""In a microsecond; nanoseconds of the years 1 to 9999 do not fit into a column."""


def microseconds(time: timestamp_pb2.Timestamp) -> int:
    """Return microseconds since 1970."""
    return time.seconds * 1_000_000 + time.nanos // NANOS


class Names:
    """Strings of one axis, each under a number; "" is 0."""

    def __init__(self) -> None:
        """Start with ""."""
        self._numbers = {"": 0}

    def number(self, name: str) -> int:
        """Return the number of a string, a new one when it is new."""
        return self._numbers.setdefault(name, len(self._numbers))

    def find(self, name: str) -> int:
        """Return the number of a string, -1 when no record has it."""
        return self._numbers.get(name, -1)

    def with_prefix(self, prefix: str) -> NDArray[np.bool_]:
        """Return, by number, which strings start with a literal prefix."""
        return np.fromiter((name.startswith(prefix) for name in self._numbers), np.bool_, len(self._numbers))


class Table:
    """Columns by slot, and the slot of every N. Procedures have a place here too."""

    def __init__(self) -> None:
        """Start empty."""
        self.slots: dict[int, int] = {}
        # Enums are as wide as on the wire: a stored number that is not known yet must not stop a load.
        self.n = Column(np.int64)
        self.alive = Column(np.bool_)
        self.kind = Column(np.int32)
        self.occurred = Column(np.int64)
        self._occurred_nanos = Column(np.int16)
        self.uncertain = Column(np.bool_)
        self.helped = Column(np.int32)
        self.harmed = Column(np.int32)
        self.speaker = Column(np.int32)
        self.text = Column(np.int64)
        self.statement = Column(np.int64)
        self.particulars = Column(np.int64)
        self._type = Column(np.int32)
        self._status = Column(np.int32)
        self._reason = Column(np.int32)
        self._agent = Column(np.int32)
        self._user = Column(np.int32)
        self._conversation = Column(np.int32)
        self._project = Column(np.int32)
        self._channel = Column(np.int32)
        self._source = Column(np.int32)
        self._agents, self._users, self._conversations = Names(), Names(), Names()
        self._projects, self._channels, self._sources, self._speakers = Names(), Names(), Names(), Names()

    def __len__(self) -> int:
        """Return the number of slots, dead ones included."""
        return len(self.n)

    def add(self, n: int, record: store_pb2.Record) -> int:
        """Give a record a new slot and return it; its former one must be dead already."""
        slot = len(self)
        axes = record.axes
        for column, value in (
            (self.n, n),
            (self.alive, True),
            (self.kind, record.kind),
            (self.occurred, microseconds(record.occurred_at)),
            (self._occurred_nanos, record.occurred_at.nanos % NANOS),
            (self.uncertain, record.time_uncertain),
            (self.helped, 0),
            (self.harmed, 0),
            (self.speaker, self._speakers.number(fold(record.name))),
            (self.text, text_key(record.content)),
            (self.statement, statement_key(record.content)),
            (self.particulars, particulars_key(record.content)),
            (self._type, record.type),
            (self._status, record.status),
            (self._reason, record.stale_reason),
            (self._agent, self._agents.number(axes.agent_id or DEFAULT_AGENT)),
            (self._user, self._users.number(axes.user_id)),
            (self._conversation, self._conversations.number(axes.conversation_id)),
            (self._project, self._projects.number(axes.project_id)),
            (self._channel, self._channels.number(axes.channel)),
            (self._source, self._sources.number(axes.source_id)),
        ):
            column.append(value)
        self.slots[n] = slot
        return slot

    def learn(self, slot: int, learned: store_pb2.Learned | None) -> None:
        """Take over what feedback taught about a record."""
        self.helped.values[slot] = learned.helped if learned is not None else 0
        self.harmed.values[slot] = learned.harmed if learned is not None else 0

    def kill(self, n: int) -> None:
        """Let record N go."""
        self.alive.values[self.slots.pop(n)] = False

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the slots where `mask` is false."""
        for column in self._columns():
            column.keep(mask)
        self.slots = {int(n): slot for slot, n in enumerate(self.n.values)}

    def any_live(self) -> bool:
        """Return whether any record holds."""
        return bool((self.alive.values & (self._status.values != common_pb2.MEMORY_STATUS_STALE)).any())

    def speakers(self, folded: list[str]) -> NDArray[np.bool_]:
        """Return, by slot, whether one of the folded names is the record's speaker."""
        numbers = [number for name in folded if (number := self._speakers.find(name)) > 0]
        return np.isin(self.speaker.values, numbers)

    def within(self, windows: Iterable[tier_pb2.TimeWindow]) -> NDArray[np.bool_]:
        """Return, by slot, which records have a certain time that lies in one of the windows."""
        mask = np.zeros(len(self), np.bool_)
        for window in windows:
            start, end = microseconds(window.start), microseconds(window.end)
            mask |= (self.occurred.values >= start) & (self.occurred.values < end)
        return mask & ~self.uncertain.values

    def allowed(self, filter_: tier_pb2.Filter) -> NDArray[np.bool_]:
        """Return, by slot, which memories may be returned; never a procedure."""
        kinds = [kind for kind in MEMORIES if _wanted(filter_, kind)]
        mask: NDArray[np.bool_] = self._axes(filter_.axes) & np.isin(self.kind.values, kinds)
        if filter_.types:
            mask &= np.isin(self._type.values, list(filter_.types))
        if filter_.HasField("occurred_after"):
            mask &= ~self._before(filter_.occurred_after)
        if filter_.HasField("occurred_before"):
            mask &= ~self._after(filter_.occurred_before)
        holds = self._status.values != common_pb2.MEMORY_STATUS_STALE
        if filter_.include_superseded:
            holds |= np.isin(self._reason.values, SHOWN_WHEN_ASKED)
        mask &= holds
        if filter_.axes.source_id:
            mask &= self._sources.with_prefix(filter_.axes.source_id)[self._source.values]
        return mask

    def procedures(self, filter_: tier_pb2.Filter) -> NDArray[np.bool_]:
        """Return, by slot, which procedures may be returned: those of the filter's axes, whatever their source."""
        holds = self._status.values != common_pb2.MEMORY_STATUS_STALE
        mask: NDArray[np.bool_] = self._axes(filter_.axes) & holds
        mask &= self.kind.values == store_pb2.RECORD_KIND_PROCEDURE
        return mask

    def nbytes(self) -> int:
        """Return about how much memory this holds."""
        return sum(column.nbytes for column in self._columns()) + SLOT_BYTES * len(self.slots)

    def _before(self, stamp: timestamp_pb2.Timestamp) -> NDArray[np.bool_]:
        time, nanos = microseconds(stamp), stamp.nanos % NANOS
        same = self.occurred.values == time
        found: NDArray[np.bool_] = (self.occurred.values < time) | same & (self._occurred_nanos.values < nanos)
        return found

    def _after(self, stamp: timestamp_pb2.Timestamp) -> NDArray[np.bool_]:
        time, nanos = microseconds(stamp), stamp.nanos % NANOS
        same = self.occurred.values == time
        found: NDArray[np.bool_] = (self.occurred.values > time) | same & (self._occurred_nanos.values > nanos)
        return found

    def _axes(self, axes: common_pb2.Axes) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.alive.values.copy()
        if axes.HasField("agent_id"):
            mask &= self._agent.values == self._agents.find(axes.agent_id or DEFAULT_AGENT)
        if axes.user_id:
            mask &= self._user.values == self._users.find(axes.user_id)
        if axes.conversation_id:
            mask &= self._conversation.values == self._conversations.find(axes.conversation_id)
        if axes.HasField("project_id"):
            mask &= np.isin(self._project.values, (0, self._projects.find(axes.project_id)))
        if axes.channel:
            mask &= np.isin(self._channel.values, (0, self._channels.find(axes.channel)))
        return mask

    def _columns(self) -> list[Column[np.generic]]:
        return [value for value in vars(self).values() if isinstance(value, Column)]


def _wanted(filter_: tier_pb2.Filter, kind: int) -> bool:
    # A source leaves episodes out, which come from many sources, unless a channel narrows them.
    if kind == store_pb2.RECORD_KIND_EPISODE and filter_.axes.source_id and not filter_.axes.channel:
        return False
    return not filter_.kinds or kind in filter_.kinds
