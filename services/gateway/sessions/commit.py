"""Commit: the gate and the close are one atomic step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from remembrancer.internal.v1 import encoder_pb2, store_pb2
from remembrancer.model.errors import Conflict, SessionEnded
from remembrancer.model.ids import record_id
from remembrancer.model.limits import TEXT_LENGTH
from remembrancer.model.scope import AXIS_LENGTH, require_path
from remembrancer.model.text import bounded, counted, request_id, require
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from remembrancer.store.sessions import StoredState
from remembrancer.store.vector_sets import read_sets
from remembrancer.v1 import common_pb2, session_pb2
from services.gateway.requests import enums
from services.gateway.requests.calls import Call
from services.gateway.search.encoding import Encoded, EncodedTexts
from services.gateway.sessions.commit_change import Closing
from services.gateway.sessions.commit_state import read_commit_state
from services.gateway.sessions.procedure_input import check_procedure_input
from services.gateway.sessions.uncovered import refuse_uncovered
from services.gateway.shared.idempotency import WRITES_MS, FirstAnswer, Idempotency
from services.gateway.shared.named_sessions import named, refuse_foreign
from services.gateway.shared.parts import Parts
from services.gateway.shared.registering import register, sets_for
from services.gateway.shared.retries import apply_once, tries

RPC: Final = "Commit"
ATTEMPTS: Final = 16
TRAJECTORY: Final = 32
TRAJECTORY_LENGTH: Final = 1000
REFERENCES: Final = 32

ENCODE_SHARE: Final = 0.8
"""Of a commit's time, the most that encoding may take."""


async def commit(parts: Parts, request: session_pb2.CommitRequest, call: Call) -> session_pb2.CommitResponse:
    """Close a covered session, or update the outcome of a closed one."""
    context = _check(request)
    scope = require_path(request.scope)
    keys = PartitionKeys.of(scope.path)
    ref = named(request.session_id, required=True)
    await refuse_foreign(parts.store, ref, keys.partition, call.caller, parts.retention)
    idempotency = Idempotency.of(keys, call.caller, RPC, request, request.request_id, WRITES_MS)
    encoded = _Texts(parts, call)
    async for _ in tries(ATTEMPTS):
        state = await read_commit_state(parts, keys, ref, call.caller, idempotency, request.session_key)
        if isinstance(state, FirstAnswer):
            return _again(state)
        if state.session.state is StoredState.ABANDONED:
            raise SessionEnded(state.session.id, "abandoned")
        if state.session.state is StoredState.OPEN and state.uncovered:
            await refuse_uncovered(parts, keys, state.session)
            continue
        closing = Closing(request, context, state)
        texts = await encoded.of(closing.texts())
        if closing.texts() and (not state.ever_written or state.unlisted is not None or not encoded.model_id):
            await register(parts, keys.partition, scope.path, model_id=encoded.model_id, dimension=encoded.dimension)
        sets = (
            await sets_for(parts, keys, encoded.model_id if _complete(texts) else "")
            if closing.texts()
            else await read_sets(parts.store, parts.models, keys)
        )
        change, plan = closing.change(keys, parts.retention, texts, encoded.model_id, sets)
        idempotency.remember(change, plan)
        match await apply_once(parts, change, idempotency):
            case Applied(_, base):
                return _response(plan, base)
            case FirstAnswer() as first:
                return _again(first)
    raise Conflict("the session changed too often meanwhile; try again")


def _complete(texts: Mapping[str, Encoded]) -> bool:
    return all(text.vectors is not None for text in texts.values())


class _Texts:
    """Texts of the records that a commit makes; each is encoded once, however often the commit is tried."""

    def __init__(self, parts: Parts, call: Call) -> None:
        self._parts = parts
        self._call = call
        self._known: dict[str, Encoded] = {}
        self.model_id = ""
        self.dimension = 0

    async def of(self, texts: list[str]) -> dict[str, Encoded]:
        missing = [text for text in texts if text not in self._known]
        if missing:
            encoded = await self._encode(missing)
            if self._known and encoded.model_id != self.model_id:
                # The model changed between two tries: vectors of one commit are of one model.
                missing = texts
                encoded = await self._encode(missing)
            self._known.update(zip(missing, encoded.texts, strict=True))
            self.model_id, self.dimension = encoded.model_id, encoded.dimension
        return self._known

    async def _encode(self, texts: list[str]) -> EncodedTexts:
        return await self._parts.encoder.encode(
            [(text, text) for text in texts], encoder_pb2.LANE_WRITE, self._call.seconds_left * ENCODE_SHARE
        )


def _check(request: session_pb2.CommitRequest) -> dict[str, Any] | None:
    """Check all fields but scope and session; return the procedure's own context."""
    require("final_goal", request.final_goal, TEXT_LENGTH)
    enums.known("outcome", _Outcomes, request.outcome, required=True)
    require("outcome_summary", request.outcome_summary, TEXT_LENGTH)
    verification = request.verification
    enums.known("verification.status", session_pb2.VerificationStatus, verification.status)
    bounded("verification.summary", verification.summary, TEXT_LENGTH)
    counted("verification.evidence_refs", verification.evidence_refs, 0, REFERENCES)
    for i, reference in enumerate(verification.evidence_refs):
        require(f"verification.evidence_refs[{i}]", reference, AXIS_LENGTH)
    counted("trajectory", request.trajectory, 0, TRAJECTORY)
    for i, entry in enumerate(request.trajectory):
        enums.known(f"trajectory[{i}].kind", session_pb2.TrajectoryKind, entry.kind, required=True)
        require(f"trajectory[{i}].summary", entry.summary, TRAJECTORY_LENGTH)
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


def _again(first: FirstAnswer) -> session_pb2.CommitResponse:
    return _response(store_pb2.CommitPlan.FromString(first.answer), first.base)


def _response(plan: store_pb2.CommitPlan, base: int) -> session_pb2.CommitResponse:
    return session_pb2.CommitResponse(
        session_id=plan.session_id,
        state=plan.state,
        outcome=plan.outcome,
        feedback_status=plan.feedback_status,
        episode_id=_id(store_pb2.RECORD_KIND_EPISODE, plan.episode, base),
        procedure_id=_id(store_pb2.RECORD_KIND_PROCEDURE, plan.procedure, base),
        operation=plan.operation,
        trajectory_left_out=plan.trajectory_left_out,
    )


def _id(kind: int, planned: store_pb2.PlannedWrite, base: int) -> str:
    n = planned.n or (base + planned.allocated if planned.allocated else 0)
    return record_id(kind, n) if n else ""
