"""Which memories a call is about: the rule that reads apply inside the tiers, for single records."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.axes import NAMES, axis_of, for_read, for_write, is_set, visible
from remembrancer.model.clock import moment
from remembrancer.v1 import common_pb2, record_pb2


@dataclass(frozen=True, slots=True)
class Selection:
    """Bounds that must all hold.

    `axes` come from `for_read`; empty `kinds` and `types` and absent times bound nothing.
    """

    axes: common_pb2.Axes
    kinds: frozenset[int] = frozenset()
    types: frozenset[int] = frozenset()
    after: timestamp_pb2.Timestamp | None = None
    before: timestamp_pb2.Timestamp | None = None

    def sees(self, record: store_pb2.Record) -> bool:
        """Return whether the axes let a record through, memory or procedure, as in every read."""
        return visible(record.axes, self.axes) and self._source_allows(record)

    def matches(self, record: store_pb2.Record) -> bool:
        """Return whether a record, memory or procedure, is within all bounds.

        A procedure is none of the kinds and has no type, so that a bound on either leaves it out.
        """
        return (
            self.sees(record)
            and (not self.kinds or record.kind in self.kinds)
            and (not self.types or record.type in self.types)
            and (self.after is None or moment(record.occurred_at) >= moment(self.after))
            and (self.before is None or moment(record.occurred_at) <= moment(self.before))
        )

    def owns(self, axes: common_pb2.Axes, since: timestamp_pb2.Timestamp) -> bool:
        """Return whether a session with these axes, opened at `since`, is within all bounds, as its procedure would be.

        Sessions are of no kind and have no type.
        """
        made = store_pb2.Record(kind=store_pb2.RECORD_KIND_PROCEDURE, axes=for_write(axes), occurred_at=since)
        return self.matches(made)

    def _source_allows(self, record: store_pb2.Record) -> bool:
        # A source leaves episodes out, which come from many sources, unless a channel narrows them.
        episode = record.kind == store_pb2.RECORD_KIND_EPISODE
        return not (episode and self.axes.source_id and not self.axes.channel)


def select(axes: common_pb2.Axes, lifted: Collection[int]) -> Selection:
    """Return the selection by axes alone; the axes in `lifted` do not bound it."""
    return Selection(for_read(axes, common_pb2.Axes(), lifted))


def bounds_of(selection: Selection) -> store_pb2.ErasureBounds:
    """Return a selection as it is stored."""
    return store_pb2.ErasureBounds(
        axes=selection.axes,
        kinds=[store_pb2.RecordKind.ValueType(kind) for kind in sorted(selection.kinds)],
        types=[common_pb2.MemoryType.ValueType(type_) for type_ in sorted(selection.types)],
        occurred_after=selection.after,
        occurred_before=selection.before,
    )


def selection_of(bounds: store_pb2.ErasureBounds) -> Selection:
    """Return the selection that was stored."""
    return Selection(
        bounds.axes,
        frozenset(bounds.kinds),
        frozenset(bounds.types),
        bounds.occurred_after if bounds.HasField("occurred_after") else None,
        bounds.occurred_before if bounds.HasField("occurred_before") else None,
    )


def is_bounded(given: record_pb2.MemorySelection) -> bool:
    """Return whether a caller's selection sets a bound of its own.

    The default agent is none: it bounds a selection in which the caller said nothing.
    """
    return bool(
        given.kinds
        or given.types
        or given.HasField("occurred_after")
        or given.HasField("occurred_before")
        or any(is_set(given.axes, name) and axis_of(name) not in given.any_axis for name in NAMES)
    )
