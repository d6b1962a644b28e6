"""Entries that only narrate this service's own calls are not kept (field case S40)."""

from __future__ import annotations

import pytest

from remembrancer.model.trajectory import narrates
from remembrancer.v1 import session_pb2


def entry(summary: str) -> session_pb2.TrajectoryEntry:
    return session_pb2.TrajectoryEntry(kind=session_pb2.TRAJECTORY_KIND_ACTION, summary=summary)


@pytest.mark.parametrize(
    "summary",
    [
        "recall",
        "Called recall.",
        "I called the recall tool",
        "Then invoked `recall_with_context`",
        "Called RecallWithContext() on Remembrancer",
        "Used the remembrancer recall tool",
        "called remembrancer.v1.RecallService/Recall",
        "Sent feedback",
        "Gave feedback on the retrieval",
        "Submitted complete feedback for all retrievals.",
        "Activated a new session",
        "Committed the session!",
        "Recalled relevant memories from memory",
        "  ran   Commit  ",
        "Called list_sessions",
    ],
)
def test_s40_narration_is_recognised(summary: str) -> None:
    assert narrates(entry(summary))


@pytest.mark.parametrize(
    "summary",
    [
        "Fixed the recall tool test",
        "Recalled 3 faulty units from customers",
        "Committed the schema change to main",
        "Ran the tests",
        "Asked the customer for feedback",
        "Activated the feature flag for recall",
        "Recall found the root cause in the retry loop",
        "Called the vendor",
        "Opened a pull request",
        "",
    ],
)
def test_s40_work_is_kept(summary: str) -> None:
    assert not narrates(entry(summary))


def test_a_long_entry_takes_no_long_time() -> None:
    assert not narrates(entry("called the memory " * 55 + "x"))
