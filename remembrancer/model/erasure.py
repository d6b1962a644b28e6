"""What erasing leaves of records' copies: ids and decisions stay, words go."""

from __future__ import annotations

from collections.abc import Callable

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ledger import target_of


def without_words(log: store_pb2.FeedbackLog, gone: Callable[[str], bool], *, everything: bool) -> bool:
    """Take the words out of feedback on targets that are gone, with `everything` out of all of it.

    Returns whether anything was taken.
    """
    before = log.SerializeToString(deterministic=True)
    for row in log.rows:
        if everything or gone(target_of(row)):
            if row.WhichOneof("target") == "memory":
                row.memory.reason = ""
            else:
                row.procedure.contribution = ""
                row.procedure.reason = ""
    if everything:
        del log.missing[:]
    return log.SerializeToString(deterministic=True) != before


def without_entities(plan: store_pb2.RecallPlan) -> bool:
    """Take entities, and the ways that name them, out of a remembered answer; return whether there were any."""
    found = bool(plan.entities) or any(hit.why for hit in plan.hits)
    del plan.entities[:]
    for hit in plan.hits:
        del hit.why[:]
    return found


def bare_outcome(outcome: store_pb2.SessionOutcome) -> store_pb2.SessionOutcome:
    """Return how a session ended, without a word on it."""
    return store_pb2.SessionOutcome(outcome=outcome.outcome)


def bare_info(info: store_pb2.SessionInfo) -> store_pb2.SessionInfo:
    """Return what a session needs to go on, without what it was for."""
    bare = store_pb2.SessionInfo()
    bare.CopyFrom(info)
    bare.ClearField("task")
    bare.ClearField("initial_goal")
    return bare


def without_summary(learned: store_pb2.Learned, session_id: str) -> bool:
    """Take a session's words out of what is known of a procedure's uses; return whether there were any."""
    found = False
    for use in learned.uses:
        if use.session_id == session_id and use.outcome_summary:
            use.outcome_summary = ""
            found = True
    return found
