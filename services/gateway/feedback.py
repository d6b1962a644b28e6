"""Feedback: reads what the feedback touches, decides with the model, writes all of it in one change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from google.protobuf import timestamp_pb2

from remembrancer.internal.v1 import store_pb2
from remembrancer.model import learning, ledger
from remembrancer.model.clock import from_ms
from remembrancer.model.errors import Conflict, InvalidField, RetrievalNotFound
from remembrancer.model.feedback import check_item
from remembrancer.model.ids import RetrievalRef, SessionRef, parse_record, parse_retrieval
from remembrancer.model.text import request_id
from remembrancer.runtime.status import to_status
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied, Read, Replayed
from remembrancer.store.reader import FeedOp
from remembrancer.store.sessions import StoredState, require_open, session_from, session_reads, touch
from remembrancer.v1 import common_pb2, session_pb2
from services.gateway.calls import Call
from services.gateway.limits import BATCH
from services.gateway.parts import Parts
from services.gateway.replay import WRITES_MS, RequestMemory

RPC: Final = "Feedback"
ATTEMPTS: Final = 16
"""Tries while other feedback changes the same records; one of the rivals gets through in each round."""


async def feedback(parts: Parts, request: session_pb2.FeedbackRequest, call: Call) -> session_pb2.FeedbackResponse:
    """Take feedback on one retrieval or on several."""
    items = _items(request)
    batch = bool(request.items)
    refs = [parse_retrieval(item.retrieval_id) for item in items]
    first = next((ref for ref in refs if ref is not None), None)
    if first is None:
        raise RetrievalNotFound(items[0].retrieval_id[:256])
    keys = PartitionKeys(first.partition)
    if any(ref is not None and ref.partition != keys.partition for ref in refs):
        raise InvalidField("items", "must be retrievals of one scope")
    memory = RequestMemory.of(keys, call.caller, RPC, request, request.request_id, WRITES_MS)
    for _ in range(ATTEMPTS):
        work = await _read(parts, keys, call, refs, items, memory)
        if isinstance(work, bytes):
            return session_pb2.FeedbackResponse.FromString(work)
        response = session_pb2.FeedbackResponse()
        for i, (ref, item) in enumerate(zip(refs, items, strict=True)):
            response.results.append(work.judge(ref, item, f"items[{i}]." if batch else "", call.caller, batch))
        change = work.change(parts)
        memory.remember(change, response)
        match await parts.store.apply(change):
            case Applied(_, _, head):
                parts.warm(keys.partition, head)
                return response
            case Replayed(_, body, answer, base):
                return session_pb2.FeedbackResponse.FromString(memory.again(body, answer, base).answer)
    raise Conflict("the memories changed too often meanwhile; try again")


def _items(request: session_pb2.FeedbackRequest) -> Sequence[session_pb2.FeedbackItem]:
    request_id(request.request_id)
    single = session_pb2.FeedbackItem(
        retrieval_id=request.retrieval_id,
        memory_feedback=request.memory_feedback,
        procedure_feedback=request.procedure_feedback,
        coverage=request.coverage,
        remaining=request.remaining,
        retrieval_quality=request.retrieval_quality,
        missing=request.missing,
    )
    if not request.items:
        check_item(single)
        return [single]
    if single.ByteSize():
        raise InvalidField("items", "cannot stand beside the fields of the single form")
    if len(request.items) > BATCH:
        raise InvalidField("items", f"must have at most {BATCH} entries, has {len(request.items)}")
    named = [item.retrieval_id for item in request.items]
    for i, item in enumerate(request.items):
        check_item(item, f"items[{i}].")
        if item.retrieval_id in named[:i]:
            raise InvalidField(f"items[{i}].retrieval_id", "stands twice in this call")
    return list(request.items)


@dataclass(slots=True)
class _Ledgered:
    """One retrieval with its log, as read and as judged."""

    raw: bytes
    retrieval: store_pb2.Retrieval
    raw_log: bytes | None
    log: store_pb2.FeedbackLog
    judged: store_pb2.FeedbackLog | None = None


@dataclass(slots=True)
class _Work:
    """What was read for one feedback call, and what it is to become."""

    keys: PartitionKeys
    at: timestamp_pb2.Timestamp
    retrievals: dict[RetrievalRef, _Ledgered]
    open_sessions: set[SessionRef]
    records: Mapping[int, store_pb2.Record]
    raw_records: Mapping[int, bytes | None]
    raw_learned: Mapping[int, bytes | None]
    learned: dict[int, store_pb2.Learned] = field(default_factory=dict)
    staled: dict[int, store_pb2.Record] = field(default_factory=dict)
    used: dict[SessionRef, set[int]] = field(default_factory=dict)

    def judge(
        self, ref: RetrievalRef | None, item: session_pb2.FeedbackItem, prefix: str, caller: str, batch: bool
    ) -> session_pb2.FeedbackResult:
        """Judge one item and take its changes over. Errors: RetrievalNotFound, in a batch as the item's `error`."""
        entry = self.retrievals.get(ref) if ref is not None else None
        if ref is None or entry is None or entry.retrieval.caller != caller:
            error = RetrievalNotFound(item.retrieval_id[:256])
            if not batch:
                raise error
            return session_pb2.FeedbackResult(retrieval_id=item.retrieval_id[:256], error=to_status(error))
        verdict = ledger.judge(entry.retrieval, entry.log, item, self.at, self._lookup, prefix)
        applied = session_pb2.AppliedFeedback(unchanged=verdict.unchanged)
        for row in verdict.changes:
            self._learn(ref, row, applied)
        self._relink(ref, entry, verdict.log, applied)
        entry.judged = verdict.log
        return session_pb2.FeedbackResult(
            retrieval_id=item.retrieval_id,
            coverage=session_pb2.COVERAGE_COMPLETE if verdict.covered else session_pb2.COVERAGE_PARTIAL,
            outstanding=verdict.outstanding,
            accepted=verdict.accepted,
            rejected=verdict.rejected,
            applied=applied,
        )

    def change(self, parts: Parts) -> Change:
        """Return everything that was decided as one change."""
        change = Change(self.keys)
        for ref, entry in self.retrievals.items():
            if entry.judged is None:
                continue
            key = self.keys.ledger(ref.ledger)
            change.require_same("feedback log", key, f"f:{ref.key}", entry.raw_log)
            change.require_same("retrieval", key, f"r:{ref.key}", entry.raw)
            change.write("HSET", key, f"f:{ref.key}", entry.judged.SerializeToString())
            if entry.judged.complete:
                change.write("ZREM", self.keys.uncovered(ref.ledger), ref.key)
        for n, learned in sorted(self.learned.items()):
            change.require_same("learned", self.keys.learned, str(n), self.raw_learned.get(n))
            change.write("HSET", self.keys.learned, str(n), learned.SerializeToString())
            change.announce(FeedOp.LEARNED, n)
        for n, record in sorted(self.staled.items()):
            change.require_same("record", self.keys.records, str(n), self.raw_records[n])
            change.write("HSET", self.keys.records, str(n), record.SerializeToString())
            change.announce(FeedOp.RECORD, n)
        for session in self.open_sessions:
            require_open(change, session, parts.retention)
            touch(change, session, parts.retention)
        for session, procedures in self.used.items():
            key = self.keys.used_procedures(session.ledger)
            change.write("SADD", key, *sorted(procedures))
            change.write("PEXPIRE", key, parts.retention.idle_ms + parts.retention.kept_ms)
        return change

    def _lookup(self, n: int) -> store_pb2.Record | None:
        return self.staled.get(n) or self.records.get(n)

    def _learn(self, ref: RetrievalRef, row: ledger.RowChange, applied: session_pb2.AppliedFeedback) -> None:
        n = int(row.target.rpartition("_")[2])
        if n not in self.records:
            return  # Forgotten since it was shown: still assessable, but there is nothing left to teach.
        if row.after.WhichOneof("target") == "procedure":
            session = "" if ref.stateless else str(SessionRef(ref.partition, ref.ledger))
            learning.learn_procedure(self._learned(n), row.before, row.after, str(ref), session)
            applied.procedures += 1
            if row.after.procedure.assessment == session_pb2.PROCEDURE_ASSESSMENT_USED and not ref.stateless:
                self.used.setdefault(SessionRef(ref.partition, ref.ledger), set()).add(n)
            return
        moved = learning.learn_memory(self._learned(n), row.before, row.after)
        applied.strengthened += moved > 0
        applied.weakened += moved < 0
        if row.after.memory.assessment == session_pb2.MEMORY_ASSESSMENT_STALE:
            applied.staled += self._stale(n, row.after.memory)

    def _stale(self, n: int, entry: session_pb2.MemoryFeedback) -> bool:
        record = store_pb2.Record()
        record.CopyFrom(self.staled.get(n) or self.records[n])
        if record.status == common_pb2.MEMORY_STATUS_STALE:
            return False
        record.status = common_pb2.MEMORY_STATUS_STALE
        record.stale_reason = entry.stale_reason
        record.stale_text = entry.reason
        replacement = parse_record(entry.replacement_memory_id)
        record.replaced_by = replacement[1] if replacement is not None else 0
        self.staled[n] = record
        return True

    def _relink(
        self, ref: RetrievalRef, entry: _Ledgered, log: store_pb2.FeedbackLog, applied: session_pb2.AppliedFeedback
    ) -> None:
        before = learning.used_together(entry.retrieval.exposed, ledger.latest_rows(entry.log))
        after = learning.used_together(entry.retrieval.exposed, ledger.latest_rows(log))
        for low, high in sorted(after - before):
            if low in self.records and high in self.records:
                learning.link(self._learned(low), high, str(ref), self.at)
                applied.linked += 1
        for low, high in sorted(before - after):
            if low in self.records:
                learning.unlink(self._learned(low), high, str(ref))

    def _learned(self, n: int) -> store_pb2.Learned:
        if n not in self.learned:
            raw = self.raw_learned.get(n)
            self.learned[n] = store_pb2.Learned.FromString(raw) if raw is not None else store_pb2.Learned()
        return self.learned[n]


async def _read(
    parts: Parts,
    keys: PartitionKeys,
    call: Call,
    refs: Sequence[RetrievalRef | None],
    items: Sequence[session_pb2.FeedbackItem],
    memory: RequestMemory,
) -> _Work | bytes:
    """Return what the call touches, or the first answer when the same request came in earlier."""
    present = list(dict.fromkeys(ref for ref in refs if ref is not None))
    sessions = list(dict.fromkeys(SessionRef(r.partition, r.ledger) for r in present if not r.stateless))
    reads: list[Read] = [("HMGET", keys.ledger(r.ledger), f"r:{r.key}", f"f:{r.key}") for r in present]
    reads += [session_reads(session) for session in sessions]
    snapshot = await parts.store.read(*reads, *memory.reads())
    found, states, rest = (
        snapshot.answers[: len(present)],
        snapshot.answers[len(present) : len(reads)],
        snapshot.answers[len(reads) :],
    )
    seen = memory.seen(rest)
    if seen is not None:
        return seen.answer
    retrievals = {
        ref: _Ledgered(
            raw,
            store_pb2.Retrieval.FromString(raw),
            raw_log,
            store_pb2.FeedbackLog.FromString(raw_log) if raw_log is not None else store_pb2.FeedbackLog(),
        )
        for ref, (raw, raw_log) in zip(present, found, strict=True)
        if raw is not None
    }
    owned_ledgers = {r.ledger for r, entry in retrievals.items() if entry.retrieval.caller == call.caller}
    loaded = [session_from(s, raw, snapshot.now_ms, parts.retention) for s, raw in zip(sessions, states, strict=True)]
    records, learned = await _records(parts, keys, _touched(retrievals, items))
    return _Work(
        keys=keys,
        at=from_ms(snapshot.now_ms),
        retrievals=retrievals,
        open_sessions={
            s.ref for s in loaded if s is not None and s.state is StoredState.OPEN and s.ref.ledger in owned_ledgers
        },
        records={n: store_pb2.Record.FromString(raw) for n, raw in records.items() if raw is not None},
        raw_records=records,
        raw_learned=learned,
    )


def _touched(retrievals: Mapping[RetrievalRef, _Ledgered], items: Sequence[session_pb2.FeedbackItem]) -> list[int]:
    targets = {target for entry in retrievals.values() for target in entry.retrieval.exposed}
    targets |= {entry.replacement_memory_id for item in items for entry in item.memory_feedback}
    return sorted({parsed[1] for target in targets if (parsed := parse_record(target)) is not None})


async def _records(
    parts: Parts, keys: PartitionKeys, ns: Sequence[int]
) -> tuple[dict[int, bytes | None], dict[int, bytes | None]]:
    if not ns:
        return {}, {}
    fields = [str(n) for n in ns]
    snapshot = await parts.store.read(("HMGET", keys.records, *fields), ("HMGET", keys.learned, *fields))
    records, learned = snapshot.answers
    return dict(zip(ns, records, strict=True)), dict(zip(ns, learned, strict=True))
