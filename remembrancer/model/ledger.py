"""The ledger's rules: which feedback on a retrieval is accepted, and when it covers the retrieval.

A retrieval is covered when every exposed target has an accepted assessment and a COMPLETE declaration was accepted.
COMPLETE is refused while anything is outstanding or any entry of the same call was rejected. Of the rows on one target
the last one counts, and is the only one that is kept: what an earlier one taught is undone from it when it gives way.
An accepted STALE is final. Entries of one call count in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.feedback import Lookup, Rejection, check_memory, check_procedure
from remembrancer.model.ids import is_procedure, number_of
from remembrancer.v1 import common_pb2, session_pb2

TARGET_SHOWN: Final = 64
"""Characters of a rejected target's id that are given back; ids of this service are shorter."""

Entry: TypeAlias = session_pb2.MemoryFeedback | session_pb2.ProcedureFeedback


@dataclass(frozen=True, slots=True)
class RowChange:
    """One accepted row that changes something, and the row on that target that counted before (None = the first)."""

    target: str
    before: store_pb2.FeedbackRow | None
    after: store_pb2.FeedbackRow


@dataclass(slots=True)
class Verdict:
    """What became of the feedback of one call on one retrieval; `log` is the retrieval's log from now on."""

    log: store_pb2.FeedbackLog
    outstanding: list[str] = field(default_factory=list)
    rejected: list[session_pb2.RejectedFeedback] = field(default_factory=list)
    changes: list[RowChange] = field(default_factory=list)
    accepted: int = 0
    unchanged: int = 0

    @property
    def covered(self) -> bool:
        """Whether the retrieval is covered now."""
        return self.log.complete


def latest_rows(log: store_pb2.FeedbackLog) -> dict[str, store_pb2.FeedbackRow]:
    """Return the row that counts for each assessed target."""
    return {target_of(row): row for row in log.rows}


def target_of(row: store_pb2.FeedbackRow) -> str:
    """Return the id of what a row assesses."""
    if row.WhichOneof("target") == "memory":
        return row.memory.memory_id
    return row.procedure.procedure_id


def outstanding(retrieval: store_pb2.Retrieval, log: store_pb2.FeedbackLog) -> list[str]:
    """Return exposed targets without an accepted assessment, in exposure order."""
    assessed = latest_rows(log)
    return [target for target in retrieval.exposed if target not in assessed]


def judge(
    retrieval: store_pb2.Retrieval,
    log: store_pb2.FeedbackLog,
    item: session_pb2.FeedbackItem,
    at: timestamp_pb2.Timestamp,
    lookup: Lookup,
    prefix: str = "",
) -> Verdict:
    """Return what becomes of `item`, whose call-level fields were checked before. `log` itself is left as it is.

    `lookup` finds replacements; `prefix` stands before the field paths of rejections.
    """
    return _Judge(retrieval, log, at, lookup, prefix).run(item)


class _Judge:
    def __init__(
        self,
        retrieval: store_pb2.Retrieval,
        log: store_pb2.FeedbackLog,
        at: timestamp_pb2.Timestamp,
        lookup: Lookup,
        prefix: str,
    ) -> None:
        self._exposed = list(retrieval.exposed)
        self._retrieval = retrieval
        self._at = at
        self._lookup = lookup
        self._prefix = prefix
        self._latest = latest_rows(log)
        self._listed: set[str] = set()
        self._staled: set[int] = set()
        self._verdict = Verdict(store_pb2.FeedbackLog())
        self._verdict.log.CopyFrom(log)

    def run(self, item: session_pb2.FeedbackItem) -> Verdict:
        for i, memory in enumerate(item.memory_feedback):
            self._entry(f"memory_feedback[{i}]", memory.memory_id, memory)
        for i, procedure in enumerate(item.procedure_feedback):
            self._entry(f"procedure_feedback[{i}]", procedure.procedure_id, procedure)
        if item.remaining:
            self._assess_remaining(item.remaining)
        _keep_latest(self._verdict.log)
        self._verdict.outstanding = outstanding(self._retrieval, self._verdict.log)
        if item.coverage == session_pb2.COVERAGE_DECLARATION_COMPLETE:
            self._declare_complete()
        if item.retrieval_quality:
            self._verdict.log.retrieval_quality = item.retrieval_quality
        if item.missing:
            del self._verdict.log.missing[:]
            self._verdict.log.missing.extend(item.missing)
        return self._verdict

    def _entry(self, path: str, target: str, entry: Entry) -> None:
        try:
            if target in self._listed:
                raise Rejection(session_pb2.FEEDBACK_REJECTION_TARGET_REPEATED, "", "list each target once in a call")
            self._listed.add(target)
            self._accept(target, self._row(target, entry))
        except Rejection as rejection:
            where = f"{path}.{rejection.field}" if rejection.field else path
            self._reject(target, rejection.reason, where, rejection.hint)

    def _row(self, target: str, entry: Entry) -> store_pb2.FeedbackRow:
        before = self._latest.get(target)
        if before is not None and _is_stale(before) and before.memory == entry:
            # Accepted before: what has become of its replacement since does not matter.
            return before
        if isinstance(entry, session_pb2.MemoryFeedback):
            return store_pb2.FeedbackRow(memory=check_memory(entry, self._exposed, self._holding), at=self._at)
        return store_pb2.FeedbackRow(procedure=check_procedure(entry, self._exposed), at=self._at)

    def _holding(self, n: int) -> store_pb2.Record | None:
        """Return record N as this call has left it so far."""
        record = self._lookup(n)
        if record is None or n not in self._staled:
            return record
        stale = store_pb2.Record()
        stale.CopyFrom(record)
        stale.status = common_pb2.MEMORY_STATUS_STALE
        return stale

    def _accept(self, target: str, row: store_pb2.FeedbackRow) -> None:
        before = self._latest.get(target)
        if before is not None and _same(before, row):
            self._verdict.accepted += 1
            self._verdict.unchanged += 1
            return
        if before is not None and _is_stale(before):
            raise Rejection(
                session_pb2.FEEDBACK_REJECTION_STALE_IS_FINAL, "assessment", "an accepted STALE cannot be taken back"
            )
        self._verdict.accepted += 1
        self._verdict.log.rows.append(row)
        self._verdict.changes.append(RowChange(target, before, row))
        self._latest[target] = row
        if _is_stale(row):
            self._staled.add(number_of(target))

    def _assess_remaining(self, assessment: session_pb2.MemoryAssessment.ValueType) -> None:
        for target in self._exposed:
            if is_procedure(target) or target in self._listed or target in self._latest:
                continue
            entry = session_pb2.MemoryFeedback(memory_id=target, assessment=assessment)
            self._accept(target, store_pb2.FeedbackRow(memory=entry, at=self._at))

    def _declare_complete(self) -> None:
        if self._verdict.rejected or self._verdict.outstanding:
            self._reject(
                "",
                session_pb2.FEEDBACK_REJECTION_INCOMPLETE_COVERAGE,
                "coverage",
                "mend the rejected entries and assess every outstanding target, then declare COMPLETE again",
            )
        else:
            self._verdict.log.complete = True

    def _reject(self, target: str, reason: session_pb2.FeedbackRejection.ValueType, field_path: str, hint: str) -> None:
        # Echoed ids are the caller's own; their length is bounded so that an answer cannot be blown up.
        self._verdict.rejected.append(
            session_pb2.RejectedFeedback(
                target_id=target[:TARGET_SHOWN], reason=reason, field=f"{self._prefix}{field_path}", hint=hint
            )
        )


def _keep_latest(log: store_pb2.FeedbackLog) -> None:
    """Drop rows that do not count any more, so that a log is no longer than its retrieval has targets."""
    kept: dict[str, store_pb2.FeedbackRow] = {}
    for row in log.rows:
        kept.pop(target_of(row), None)  # The order is that of acceptance.
        kept[target_of(row)] = row
    if len(kept) < len(log.rows):
        latest = store_pb2.FeedbackLog(rows=kept.values())
        del log.rows[:]
        log.rows.extend(latest.rows)


def _is_stale(row: store_pb2.FeedbackRow) -> bool:
    return row.memory.assessment == session_pb2.MEMORY_ASSESSMENT_STALE


def _same(a: store_pb2.FeedbackRow, b: store_pb2.FeedbackRow) -> bool:
    return a.memory == b.memory and a.procedure == b.procedure
