"""What erasing leaves of records' copies: ids and decisions stay, words go."""

from __future__ import annotations

from collections.abc import Callable

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ledger import target_of


def has_words(row: store_pb2.FeedbackRow) -> bool:
    """Return whether a row of feedback says something in words."""
    if row.WhichOneof("target") == "memory":
        return bool(row.memory.reason)
    return bool(row.procedure.contribution or row.procedure.reason)


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


def bare_outcome(outcome: store_pb2.SessionOutcome) -> store_pb2.SessionOutcome:
    """Return how a session ended, without a word on it."""
    return store_pb2.SessionOutcome(outcome=outcome.outcome)


def bare_info(info: store_pb2.SessionInfo) -> store_pb2.SessionInfo:
    """Return what a session needs to go on, without what it was for and the name of its scope."""
    bare = store_pb2.SessionInfo()
    bare.CopyFrom(info)
    for name in ("task", "initial_goal", "scope"):
        bare.ClearField(name)
    return bare


def without_use_words(learned: store_pb2.Learned, session_id: str, *, everything: bool) -> bool:
    """Take a session's outcome out of a procedure's uses, with `everything` also what it said of them.

    Returns whether anything was taken.
    """
    before = learned.SerializeToString(deterministic=True)
    for use in learned.uses:
        if use.session_id == session_id:
            use.outcome_summary = ""
            if everything:
                use.contribution = ""
    return learned.SerializeToString(deterministic=True) != before
