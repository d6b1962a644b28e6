"""Turns judged feedback into one change: ledger rows, what they teach, and the activity of the session."""

from __future__ import annotations

from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model import learning, ledger
from remembrancer.model.erasure import has_words, without_words
from remembrancer.model.errors import RetrievalNotFound
from remembrancer.model.ids import RetrievalRef, SessionRef, number_of, parse_record
from remembrancer.runtime.status import to_status
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.sessions import Retention, StoredState, require_open, touch
from remembrancer.v1 import common_pb2, session_pb2
from services.gateway.sessions.comments import note_comment
from services.gateway.sessions.feedback_state import FeedbackState, Ledgered

SHOWN: Final = 256
"""Characters of an unknown retrieval's id that are given back."""


def not_found(item: session_pb2.FeedbackItem) -> session_pb2.FeedbackResult:
    """Return the result of an item whose retrieval is not there for this caller."""
    name = item.retrieval_id[:SHOWN]
    return session_pb2.FeedbackResult(retrieval_id=name, error=to_status(RetrievalNotFound(name)))


class Work:
    """One feedback call in the making; items are judged one after the other, each on what those before it left."""

    def __init__(self, state: FeedbackState) -> None:
        """Take what was read."""
        self._state = state
        self._logs: dict[RetrievalRef, store_pb2.FeedbackLog] = {}
        self._learned: dict[int, store_pb2.Learned] = {}
        self._staled: dict[int, store_pb2.Record] = {}
        self._used: dict[SessionRef, set[int]] = {}
        self._commented: dict[int, set[tuple[str, str]]] = {}

    def knows(self, ref: RetrievalRef) -> bool:
        """Return whether there is such a retrieval of the caller's."""
        return ref in self._state.retrievals

    def judge(self, ref: RetrievalRef, item: session_pb2.FeedbackItem, prefix: str) -> session_pb2.FeedbackResult:
        """Judge one item on a known retrieval and take its changes over."""
        entry = self._state.retrievals[ref]
        verdict = ledger.judge(entry.retrieval, entry.log, item, self._state.at, self._lookup, prefix)
        applied = session_pb2.AppliedFeedback(unchanged=verdict.unchanged)
        gone = set()
        for row in verdict.changes:
            self._learn(ref, row, applied)
            n = number_of(row.target)
            if n not in self._state.alive:
                gone.add(row.target)
            elif has_words(row.after):
                self._commented.setdefault(n, set()).add((ref.ledger, ref.key))
        # No erasure would come by again for words on what is gone.
        without_words(verdict.log, gone.__contains__, everything=False)
        self._relink(ref, entry, verdict.log, applied)
        self._logs[ref] = verdict.log
        return session_pb2.FeedbackResult(
            retrieval_id=item.retrieval_id,
            coverage=session_pb2.COVERAGE_COMPLETE if verdict.covered else session_pb2.COVERAGE_PARTIAL,
            outstanding=verdict.outstanding,
            accepted=verdict.accepted,
            rejected=verdict.rejected,
            applied=applied,
        )

    def change(self, retention: Retention, caller: str) -> Change:
        """Return everything that was decided as one change."""
        change = Change(self._state.keys)
        self._write_logs(change)
        self._write_learned(change)
        self._write_staled(change)
        self._write_uses(change, retention)
        for n, retrievals in sorted(self._commented.items()):
            note_comment(change, n, sorted(retrievals), self._state.gone_comments.get(n, ()))
        for session in self._state.sessions.values():
            if session.state is StoredState.OPEN:
                require_open(change, session.ref, retention)
                touch(change, session.ref, caller, retention)
        return change

    def _write_logs(self, change: Change) -> None:
        keys = self._state.keys
        for ref, log in self._logs.items():
            entry, key = self._state.retrievals[ref], keys.ledger(ref.ledger)
            change.require_same("feedback log", key, f"f:{ref.key}", entry.raw_log)
            change.require_same("retrieval", key, f"r:{ref.key}", entry.raw)
            change.write("HSET", key, f"f:{ref.key}", log.SerializeToString())
            if log.complete and not ref.stateless:
                change.write("ZREM", keys.uncovered(ref.ledger), ref.key)

    def _write_learned(self, change: Change) -> None:
        keys = self._state.keys
        for n, learned in sorted(self._learned.items()):
            raw, new = self._state.learned.get(n), learned.SerializeToString(deterministic=True)
            if new == (raw or b""):
                continue
            change.require_present("record", keys.records, str(n))
            change.require_same("learned", keys.learned, str(n), raw)
            change.write("HSET", keys.learned, str(n), new)
            change.announce(FeedOp.LEARNED, n)

    def _write_staled(self, change: Change) -> None:
        keys = self._state.keys
        for n, record in sorted(self._staled.items()):
            change.require_same("record", keys.records, str(n), self._state.records[n])
            change.write("HSET", keys.records, str(n), record.SerializeToString())
            change.announce(FeedOp.RECORD, n)

    def _write_uses(self, change: Change, retention: Retention) -> None:
        for ref, procedures in self._used.items():
            session = self._state.sessions.get(ref)
            outcome = session.raw["outcome"] if session is not None else None
            change.require_same("session outcome", change.keys.session(ref.ledger), "outcome", outcome)
            key = change.keys.used_procedures(ref.ledger)
            change.write("SADD", key, *sorted(procedures))
            change.write("PEXPIRE", key, retention.idle_ms + retention.kept_ms)

    def _lookup(self, n: int) -> store_pb2.Record | None:
        return self._staled.get(n) or decode.record(self._state.records.get(n))

    def _learn(self, ref: RetrievalRef, row: ledger.RowChange, applied: session_pb2.AppliedFeedback) -> None:
        n = number_of(row.target)
        if n not in self._state.alive:
            return  # Forgotten since it was shown: still assessable, but there is nothing left to teach.
        if row.after.WhichOneof("target") == "procedure":
            self._learn_procedure(ref, n, row)
            applied.procedures += 1
            return
        moved = learning.learn_memory(self._learning(n), row.before, row.after)
        applied.strengthened += moved > 0
        applied.weakened += moved < 0
        if row.after.memory.assessment == session_pb2.MEMORY_ASSESSMENT_STALE:
            applied.staled += self._stale(n, row.after.memory)

    def _learn_procedure(self, ref: RetrievalRef, n: int, row: ledger.RowChange) -> None:
        session_ref = None if ref.stateless else SessionRef(ref.partition, ref.ledger)
        session = self._state.sessions.get(session_ref) if session_ref is not None else None
        learning.learn_procedure(
            self._learning(n),
            row.before,
            row.after,
            str(ref),
            str(session_ref or ""),
            session.outcome if session is not None else None,
        )
        if session_ref is not None and row.after.procedure.assessment == session_pb2.PROCEDURE_ASSESSMENT_USED:
            self._used.setdefault(session_ref, set()).add(n)

    def _stale(self, n: int, entry: session_pb2.MemoryFeedback) -> bool:
        """Mark record N; return whether it held until now. What another retrieval's feedback said before stays."""
        record = self._lookup(n)
        if record is None or record.status == common_pb2.MEMORY_STATUS_STALE:
            return False
        stale = store_pb2.Record()
        stale.CopyFrom(record)
        stale.status = common_pb2.MEMORY_STATUS_STALE
        stale.stale_reason = entry.stale_reason
        stale.stale_text = entry.reason
        replacement = parse_record(entry.replacement_memory_id)
        stale.replaced_by = replacement[1] if replacement is not None else 0
        self._staled[n] = stale
        return True

    def _relink(
        self, ref: RetrievalRef, entry: Ledgered, log: store_pb2.FeedbackLog, applied: session_pb2.AppliedFeedback
    ) -> None:
        alive = self._state.alive
        before = learning.used_together(entry.retrieval.exposed, ledger.latest_rows(entry.log))
        after = learning.used_together(entry.retrieval.exposed, ledger.latest_rows(log))
        for (low, high), at in sorted(after.items(), key=lambda pair: pair[0]):
            if before.get((low, high)) != at and low in alive and high in alive:
                learning.link(self._learning(low), high, str(ref), at)
                applied.linked += (low, high) not in before
        for low, high in sorted(before.keys() - after.keys()):
            if low in alive:
                learning.unlink(self._learning(low), high, str(ref))

    def _learning(self, n: int) -> store_pb2.Learned:
        if n not in self._learned:
            self._learned[n] = decode.learned(self._state.learned.get(n))
        return self._learned[n]
