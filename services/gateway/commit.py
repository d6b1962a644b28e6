"""Commit: the gate and the close are one atomic step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from remembrancer.internal.v1 import encoder_pb2, store_pb2
from remembrancer.model import learning
from remembrancer.model.axes import for_write
from remembrancer.model.clock import from_ms
from remembrancer.model.errors import Conflict, SessionEnded
from remembrancer.model.ids import SessionRef
from remembrancer.model.scope import AXIS_LENGTH, require_path
from remembrancer.model.text import bounded, counted, request_id, require
from remembrancer.model.trajectory import narrates
from remembrancer.store.change import Allocated, Change
from remembrancer.store.keys import PartitionKeys, partition_of
from remembrancer.store.partition import Applied, Replayed
from remembrancer.store.reader import FeedOp
from remembrancer.store.sessions import PUBLIC_STATE, Session, StoredState, end_session, session_reads
from remembrancer.v1 import common_pb2, session_pb2
from services.gateway import enums
from services.gateway.calls import Call
from services.gateway.encoding import Encoded, EncodedTexts
from services.gateway.limits import TEXT_LENGTH
from services.gateway.parts import Parts
from services.gateway.procedures import check_procedure_input, procedure_record
from services.gateway.records import put_record
from services.gateway.replay import WRITES_MS, RequestMemory
from services.gateway.sessions import named, owned, refuse_foreign
from services.gateway.uncovered import refuse_uncovered

RPC: Final = "Commit"
ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class _Read:
    session: Session
    now_ms: int
    uncovered: int
    ever_written: bool
    members: list[int]
    used: dict[int, bytes]
    first: store_pb2.CommitPlan | None
    first_base: int


async def commit(parts: Parts, request: session_pb2.CommitRequest, call: Call) -> session_pb2.CommitResponse:
    """Close a covered session, or update the outcome of a closed one."""
    context = _check(request)
    scope = require_path(request.scope if request.HasField("scope") else None)
    keys = PartitionKeys(partition_of(scope.path))
    ref = named(request.session_id, required=True)
    await refuse_foreign(parts.store, ref, keys.partition, call.caller, parts.retention)
    memory = RequestMemory.of(keys, call.caller, RPC, request, request.request_id, WRITES_MS)
    encoded: EncodedTexts | None = None
    for _ in range(ATTEMPTS):
        read = await _read(parts, keys, ref, call, memory)
        if read.first is not None:
            return _response(read.first, read.first_base)
        session = read.session
        if session.state is StoredState.ABANDONED:
            raise SessionEnded(session.id)
        if session.state is StoredState.OPEN and read.uncovered:
            await refuse_uncovered(parts, keys, session)
        forming = _Forming(request, context, session, read)
        if encoded is None:
            encoded = await parts.encoder.encode(
                [(text, text) for text in forming.texts()], encoder_pb2.LANE_WRITE, call.seconds_left * 0.8
            )
        if not read.ever_written or not encoded.model_id:
            await parts.store.register(keys.partition, scope.path, not encoded.model_id)
        model_id = encoded.model_id or await parts.store.current_model()
        change, plan = forming.change(keys, parts, encoded, model_id)
        memory.remember(change, plan)
        match await parts.store.apply(change):
            case Applied(_, base, head):
                parts.warm(keys.partition, head)
                return _response(plan, base)
            case Replayed(_, body, answer, base):
                first = memory.again(body, answer, base)
                return _response(store_pb2.CommitPlan.FromString(first.answer), first.base)
    raise Conflict("the session changed too often meanwhile; try again")


def _check(request: session_pb2.CommitRequest) -> dict[str, Any] | None:
    """Check all fields but scope and session; return the procedure's own context."""
    require("final_goal", request.final_goal, TEXT_LENGTH)
    enums.known("outcome", _Outcomes, request.outcome, required=True)
    require("outcome_summary", request.outcome_summary, TEXT_LENGTH)
    verification = request.verification
    enums.known("verification.status", session_pb2.VerificationStatus, verification.status)
    bounded("verification.summary", verification.summary, TEXT_LENGTH)
    counted("verification.evidence_refs", verification.evidence_refs, 0, 32)
    for i, reference in enumerate(verification.evidence_refs):
        require(f"verification.evidence_refs[{i}]", reference, AXIS_LENGTH)
    counted("trajectory", request.trajectory, 0, 32)
    for i, entry in enumerate(request.trajectory):
        enums.known(f"trajectory[{i}].kind", session_pb2.TrajectoryKind, entry.kind, required=True)
        require(f"trajectory[{i}].summary", entry.summary, 1000)
        enums.known(f"trajectory[{i}].status", session_pb2.TrajectoryStatus, entry.status)
    request_id(request.request_id)
    bounded("session_key", request.session_key, AXIS_LENGTH)
    return check_procedure_input(request.procedure) if request.HasField("procedure") else None


class _Outcomes:
    """The outcomes that Commit takes."""

    @staticmethod
    def items() -> list[tuple[str, int]]:
        return [(name, number) for name, number in common_pb2.Outcome.items() if number in _Outcomes.values()]

    @staticmethod
    def values() -> list[int]:
        return [common_pb2.OUTCOME_SUCCESS, common_pb2.OUTCOME_PARTIAL, common_pb2.OUTCOME_FAILURE]


async def _read(parts: Parts, keys: PartitionKeys, ref: SessionRef, call: Call, memory: RequestMemory) -> _Read:
    snapshot = await parts.store.read(
        session_reads(ref),
        ("ZCARD", keys.uncovered(ref.ledger)),
        ("HGET", keys.meta, "n"),
        ("LRANGE", keys.written(ref.ledger), "0", "-1"),
        ("SMEMBERS", keys.used_procedures(ref.ledger)),
        *memory.reads(),
    )
    raw, uncovered, n, members, used, *rest = snapshot.answers
    session = owned(ref, raw, snapshot.now_ms, call.caller, parts.retention)
    seen = memory.seen(rest)
    learned = await parts.store.read(("HMGET", keys.learned, *(u.decode() for u in used))) if used else None
    values = learned.answers[0] if learned is not None else []
    return _Read(
        session=session,
        now_ms=snapshot.now_ms,
        uncovered=uncovered,
        ever_written=bool(n) and int(n) > 0,
        members=[int(member) for member in members],
        used={int(u): value for u, value in zip(used, values, strict=True) if value is not None},
        first=store_pb2.CommitPlan.FromString(seen.answer) if seen is not None else None,
        first_base=seen.base if seen is not None else 0,
    )


class _Forming:
    """One commit as it is decided: records it makes or renews, and the state the session is left in."""

    def __init__(
        self, request: session_pb2.CommitRequest, context: dict[str, Any] | None, session: Session, read: _Read
    ) -> None:
        self._request = request
        self._session = session
        self._read = read
        kept = [entry for entry in request.trajectory if not narrates(entry)]
        self._left_out = len(request.trajectory) - len(kept)
        self._outcome = store_pb2.SessionOutcome(
            final_goal=request.final_goal,
            outcome=request.outcome,
            outcome_summary=request.outcome_summary,
            verification=request.verification if request.HasField("verification") else None,
            trajectory=kept,
        )
        self._covered = not read.uncovered
        self._context = session.context if context is None else context

    def texts(self) -> list[str]:
        """Return the searched texts of the records that are made: the episode's, then the procedure's."""
        texts = [f"{self._request.final_goal}\n{self._request.outcome_summary}"]
        if self._request.HasField("procedure"):
            texts.append(self._procedure().content)
        return texts

    def change(
        self, keys: PartitionKeys, parts: Parts, encoded: EncodedTexts, model_id: str
    ) -> tuple[Change, store_pb2.CommitPlan]:
        """Return the change and the plan of its answer."""
        session, outcome = self._session, self._outcome
        change = Change(keys)
        key = keys.session(session.ref.ledger)
        change.require_same("session state", key, "state", session.raw["state"])
        change.require_same("session outcome", key, "outcome", session.raw["outcome"])
        plan = store_pb2.CommitPlan(
            session_id=session.id,
            outcome=outcome.outcome,
            operation=(
                session_pb2.COMMIT_OPERATION_CREATED
                if session.outcome is None
                else session_pb2.COMMIT_OPERATION_UPDATED
            ),
            trajectory_left_out=self._left_out,
        )
        final = StoredState.COMMITTED if session.state is not StoredState.EXPIRED else StoredState.EXPIRED
        if session.state is StoredState.OPEN:
            change.require_recent("session age", key, "active", parts.retention.idle_ms)
        if self._covered:
            change.require_empty("uncovered retrievals", keys.uncovered(session.ref.ledger))
            self._form(change, encoded.texts, model_id, plan)
        plan.state = PUBLIC_STATE[final]
        plan.feedback_status = (
            session_pb2.FEEDBACK_STATUS_COMPLETE if self._covered else session_pb2.FEEDBACK_STATUS_INCOMPLETE
        )
        self._save_outcome(change, key, plan)
        for n, raw in self._read.used.items():
            learned = store_pb2.Learned.FromString(raw)
            if learning.settle_uses(learned, session.id, outcome):
                change.require_same("learned", keys.learned, str(n), raw)
                change.write("HSET", keys.learned, str(n), learned.SerializeToString())
                change.announce(FeedOp.LEARNED, n)
        end_session(change, session.ref, final, parts.retention)
        return change, plan

    def _form(self, change: Change, texts: list[Encoded], model_id: str, plan: store_pb2.CommitPlan) -> None:
        episode, *procedure = texts
        plan.episode.CopyFrom(self._put(change, self._episode(), episode, model_id, self._session.episode))
        if procedure:
            plan.procedure.CopyFrom(
                self._put(change, self._procedure(), procedure[0], model_id, self._session.procedure)
            )
        elif self._session.procedure:
            plan.procedure.CopyFrom(
                store_pb2.PlannedWrite(kind=store_pb2.RECORD_KIND_PROCEDURE, n=self._session.procedure)
            )

    def _put(
        self, change: Change, record: store_pb2.Record, text: Encoded, model_id: str, n: int
    ) -> store_pb2.PlannedWrite:
        target = n or change.allocate()
        put_record(change, target, record, text, model_id)
        planned = store_pb2.PlannedWrite(kind=record.kind, embedded=bool(text.vectors))
        if isinstance(target, Allocated):
            planned.allocated = target.index
        else:
            planned.n = target
        return planned

    def _save_outcome(self, change: Change, key: str, plan: store_pb2.CommitPlan) -> None:
        # Numbers allocated by this change are not known yet; they go into fields of their own.
        change.write("HSET", key, "outcome", self._outcome.SerializeToString())
        for name, planned in (("episode", plan.episode), ("procedure", plan.procedure)):
            if planned.allocated:
                change.write("HSET", key, name, Allocated(planned.allocated))
        if plan.episode.allocated:
            # Outlives the session: forgetting a member must find the episode.
            episode = Allocated(plan.episode.allocated)
            change.write("HSET", change.keys.episodes, self._session.ref.ledger, episode)

    def _episode(self) -> store_pb2.Record:
        now = from_ms(self._read.now_ms)
        return store_pb2.Record(
            kind=store_pb2.RECORD_KIND_EPISODE,
            content=self.texts()[0],
            axes=for_write(self._session.info.axes),
            recorded_at=now,
            occurred_at=now,
            status=common_pb2.MEMORY_STATUS_ACTIVE,
            session_id=self._session.id,
            members=self._read.members,
        )

    def _procedure(self) -> store_pb2.Record:
        record = procedure_record(self._request.procedure, self._request.final_goal, self._context, self._outcome)
        now = from_ms(self._read.now_ms)
        record.axes.CopyFrom(for_write(self._session.info.axes))
        record.recorded_at.CopyFrom(now)
        record.occurred_at.CopyFrom(now)
        record.session_id = self._session.id
        return record


def _response(plan: store_pb2.CommitPlan, base: int) -> session_pb2.CommitResponse:
    return session_pb2.CommitResponse(
        session_id=plan.session_id,
        state=plan.state,
        outcome=plan.outcome,
        feedback_status=plan.feedback_status,
        episode_id=_id("ep", plan.episode, base),
        procedure_id=_id("proc", plan.procedure, base),
        operation=plan.operation,
        trajectory_left_out=plan.trajectory_left_out,
    )


def _id(prefix: str, planned: store_pb2.PlannedWrite, base: int) -> str:
    n = planned.n or (base + planned.allocated if planned.allocated else 0)
    return f"{prefix}_{n}" if n else ""
