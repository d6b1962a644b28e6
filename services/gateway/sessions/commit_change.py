"""One commit as it is decided: the records it makes or renews, and the state that the session is left in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remembrancer.internal.v1 import store_pb2
from remembrancer.model import learning
from remembrancer.model.axes import for_write
from remembrancer.model.clock import from_ms
from remembrancer.model.trajectory import narrates
from remembrancer.store import decode
from remembrancer.store.change import Allocated, Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.registration import require_listed
from remembrancer.store.sessions import PUBLIC_STATE, Retention, StoredState, end_session
from remembrancer.store.vector_sets import VectorSets
from remembrancer.v1 import common_pb2, session_pb2
from services.gateway.search.encoding import Encoded
from services.gateway.sessions.commit_state import CommitState
from services.gateway.sessions.procedure_input import procedure_body, searched_text
from services.gateway.shared.put_record import put_record


class Closing:
    """Decides one commit on the state that was read."""

    def __init__(self, request: session_pb2.CommitRequest, context: dict[str, Any] | None, state: CommitState) -> None:
        """Take the checked request, the procedure's own context (None = the session's), and the state."""
        self._request = request
        self._state = state
        self._session = state.session
        self._covered = not state.uncovered
        held = {} if state.wiping else state.session.context
        self._context = held if context is None else context
        kept = [entry for entry in request.trajectory if not narrates(entry)]
        self._left_out = len(request.trajectory) - len(kept)
        self._outcome = store_pb2.SessionOutcome(
            final_goal=request.final_goal,
            outcome=request.outcome,
            outcome_summary=request.outcome_summary,
            verification=request.verification if request.HasField("verification") else None,
            trajectory=kept,
        )
        forms = self._covered and not state.paused
        self._episode = self._renewed_episode() if forms else None
        self._procedure = self._renewed_procedure() if forms and request.HasField("procedure") else None

    def texts(self) -> list[str]:
        """Return the searched texts of the records that are made or change their text."""
        return [record.content for record in (self._episode, self._procedure) if record is not None]

    def change(
        self, keys: PartitionKeys, retention: Retention, texts: Mapping[str, Encoded], model_id: str, sets: VectorSets
    ) -> tuple[Change, store_pb2.CommitPlan]:
        """Return the change and the plan of its answer; `texts` has what `texts()` named, encoded by `model_id`."""
        session, change = self._session, Change(keys)
        expired = session.state is StoredState.EXPIRED
        final = StoredState.EXPIRED if expired else StoredState.COMMITTED
        self._require_unchanged(change, retention)
        sets.require(change)
        if self.texts():
            require_listed(change, self._state.unlisted)
        plan = store_pb2.CommitPlan(
            session_id=session.id,
            state=PUBLIC_STATE[final],
            outcome=self._outcome.outcome,
            feedback_status=(
                session_pb2.FEEDBACK_STATUS_COMPLETE if self._covered else session_pb2.FEEDBACK_STATUS_INCOMPLETE
            ),
            operation=(
                session_pb2.COMMIT_OPERATION_CREATED
                if session.outcome is None
                else session_pb2.COMMIT_OPERATION_UPDATED
            ),
            trajectory_left_out=self._left_out,
        )
        key = keys.session(session.ref.ledger)
        change.write("HSET", key, "outcome", self._outcome.SerializeToString())
        self._put(change, plan.episode, "episode", session.episode, self._episode, texts, model_id, sets)
        self._put(change, plan.procedure, "procedure", session.procedure, self._procedure, texts, model_id, sets)
        if self._procedure is None:
            self._update_outcome(change)
        self._settle_uses(change)
        end_session(change, session, final, retention)
        return change, plan

    def _require_unchanged(self, change: Change, retention: Retention) -> None:
        """Have the change fail when a retrieval, a write, feedback or another commit came in between."""
        session, keys = self._session, change.keys
        ledger, key = session.ref.ledger, keys.session(session.ref.ledger)
        change.require_same("session state", key, "state", session.raw["state"])
        change.require_same("session outcome", key, "outcome", session.raw["outcome"])
        # An erasure that takes the session in takes its words, too: none of them may come back in a record.
        change.require_same("session context", key, "ctx", session.raw["ctx"])
        change.require_count("erasures", keys.erasures, "HLEN", self._state.erasures)
        if session.state is StoredState.OPEN:
            change.require_recent("session age", key, "active", retention.idle_ms)
        change.require_count("uncovered retrievals", keys.uncovered(ledger), "ZCARD", self._state.uncovered)
        change.require_count("written records", keys.written(ledger), "LLEN", len(self._state.members))
        change.require_count("used procedures", keys.used_procedures(ledger), "SCARD", len(self._state.used))

    def _put(
        self,
        change: Change,
        planned: store_pb2.PlannedWrite,
        field: str,
        n: int,
        record: store_pb2.Record | None,
        texts: Mapping[str, Encoded],
        model_id: str,
        sets: VectorSets,
    ) -> None:
        """Write a record, if there is one to write, and note in the plan which one the session has."""
        if record is None:
            if n and self._state.records[n] is not None:
                planned.n = n
            return
        target: int | Allocated = change.allocate()
        if n and self._state.records[n] is not None:
            change.require_same("record", change.keys.records, str(n), self._state.records[n])
            target = n
        text = texts[record.content]
        put_record(change, target, record, text, model_id, sets)
        planned.kind, planned.embedded = record.kind, text.vectors is not None
        if isinstance(target, Allocated):
            planned.allocated = target.index
            change.write("HSET", change.keys.session(self._session.ref.ledger), field, target)
            if record.kind == store_pb2.RECORD_KIND_EPISODE:
                # Outlives the session: who forgets a member must find the episode.
                change.write("HSET", change.keys.episodes, self._session.ref.ledger, target)
        else:
            planned.n = target

    def _update_outcome(self, change: Change) -> None:
        """Let the procedure of an earlier commit follow the session's outcome."""
        n = self._session.procedure
        record = self._stored(n)
        if record is None:
            return
        body, ending = record.procedure, self._outcome
        if (body.outcome, body.outcome_summary) == (ending.outcome, ending.outcome_summary):
            return
        body.outcome, body.outcome_summary = ending.outcome, ending.outcome_summary
        change.require_same("record", change.keys.records, str(n), self._state.records[n])
        change.write("HSET", change.keys.records, str(n), record.SerializeToString())
        change.announce(FeedOp.RECORD, n)

    def _settle_uses(self, change: Change) -> None:
        """Give the session's outcome to the uses it made of procedures."""
        keys = change.keys
        for n, raw in self._state.used.items():
            learned = decode.learned(raw)
            if learning.settle_uses(learned, self._session.id, self._outcome):
                change.require_same("learned", keys.learned, str(n), raw)
                change.write("HSET", keys.learned, str(n), learned.SerializeToString(deterministic=True))
                change.announce(FeedOp.LEARNED, n)

    def _renewed_episode(self) -> store_pb2.Record | None:
        """Return the episode to be written; None when it was forgotten, or has this text already."""
        content = f"{self._request.final_goal}\n{self._request.outcome_summary}"
        if not self._session.episode:
            record = self._new(store_pb2.RECORD_KIND_EPISODE)
            record.members.extend(self._state.members)
        else:
            stored = self._stored(self._session.episode)
            if stored is None or stored.content == content:
                return None
            record = stored
        record.content = content
        return record

    def _renewed_procedure(self) -> store_pb2.Record:
        """Return the procedure to be written; one that was forgotten is made anew, since it was sent again."""
        record = self._stored(self._session.procedure) or self._new(store_pb2.RECORD_KIND_PROCEDURE)
        given, goal = self._request.procedure, self._request.final_goal
        record.content = searched_text(given, goal)
        record.procedure.CopyFrom(procedure_body(given, goal, self._context, self._outcome))
        return record

    def _stored(self, n: int) -> store_pb2.Record | None:
        return decode.record(self._state.records.get(n))

    def _new(self, kind: store_pb2.RecordKind.ValueType) -> store_pb2.Record:
        now = from_ms(self._state.now_ms)
        return store_pb2.Record(
            kind=kind,
            axes=for_write(self._session.info.axes),
            recorded_at=now,
            occurred_at=now,
            status=common_pb2.MEMORY_STATUS_ACTIVE,
            session_id=self._session.id,
        )
