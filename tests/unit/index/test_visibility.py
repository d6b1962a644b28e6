"""The rule of who sees what stands twice, for single records and over a partition's columns: both say the same."""

from __future__ import annotations

from dataclasses import replace

from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.model.axes import DEFAULT_AGENT, NAMES
from remembrancer.model.selection import Selection, select
from remembrancer.v1 import common_pb2
from workers.index.table import Table

# Few values, so that they often meet.
values = {
    **{name: st.sampled_from(["", "a"]) for name in NAMES},
    "agent_id": st.sampled_from(["", DEFAULT_AGENT, "a"]),
    "project_id": st.sampled_from(["", "a", "b"]),
    "channel": st.sampled_from(["", "a", "b"]),
    "source_id": st.sampled_from(["", "a", "ab"]),
}
axes = st.fixed_dictionaries({}, optional=values).map(lambda chosen: common_pb2.Axes(**chosen))
lifted = st.sets(st.sampled_from(common_pb2.Axis.values()), max_size=2)
times = st.builds(Timestamp, seconds=st.integers(-1, 1), nanos=st.sampled_from([0, 1, 1000, 1001]))
types = st.integers(0, 2)


def memory(kind: int, type_: int, axes: common_pb2.Axes, occurred: Timestamp) -> store_pb2.Record:
    return store_pb2.Record(
        kind=store_pb2.RecordKind.ValueType(kind),
        type=common_pb2.MemoryType.ValueType(type_),
        status=common_pb2.MEMORY_STATUS_ACTIVE,
        axes=axes,
        occurred_at=occurred,
    )


stored = st.builds(memory, st.sampled_from(store_pb2.RecordKind.values()[1:]), types, axes, times)
selections = st.builds(
    lambda axes, lifted, **bounds: replace(select(axes, lifted), **bounds),
    axes,
    lifted,
    kinds=st.just(frozenset()) | st.frozensets(st.sampled_from(common_pb2.MemoryKind.values()[1:]), max_size=2),
    types=st.just(frozenset()) | st.frozensets(types, max_size=2),
    after=st.none() | st.none() | times,
    before=st.none() | st.none() | times,
)


def filter_of(selection: Selection) -> tier_pb2.Filter:
    """Return the filter that says what a selection says."""
    return tier_pb2.Filter(
        axes=selection.axes,
        kinds=map(common_pb2.MemoryKind.ValueType, selection.kinds),
        types=map(common_pb2.MemoryType.ValueType, selection.types),
        occurred_after=selection.after,
        occurred_before=selection.before,
    )


# Seldom drawn: an episode shows by its source only when a channel is asked for, too.
CORNER = common_pb2.Axes(source_id="a", channel="a")


@settings(max_examples=150, deadline=None)
@example([memory(store_pb2.RECORD_KIND_EPISODE, 0, CORNER, Timestamp())], select(CORNER, ()))
@given(st.lists(stored, min_size=8, max_size=24), selections)
def test_p11_a_tier_lets_through_what_a_selection_matches(
    records: list[store_pb2.Record], selection: Selection
) -> None:
    table = Table()
    slots = [table.add(n, each) for n, each in enumerate(records, 1)]
    for slot, each in zip(slots, records, strict=True):
        asked = filter_of(selection)
        procedure = each.kind == store_pb2.RECORD_KIND_PROCEDURE
        assert table.allowed(asked)[slot] == (not procedure and selection.matches(each))
        asked.axes.ClearField("source_id")
        assert table.procedures(asked)[slot] == (procedure and replace(selection, axes=asked.axes).sees(each))
