"""Random steps against real gateways, each compared with a simple model at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from remembrancer.client import (
    Client,
    ClientError,
    FeedbackIncompleteError,
    memory_feedback,
    procedure_feedback,
    session_calls,
)
from remembrancer.v1 import recall_pb2, session_pb2
from tests.gateway import Gateway
from tests.integration.sessions.conftest import Age
from tests.integration.sessions.ledger_model import REFUSALS, Retrieval, Session, State

QUESTIONS = ["where is the kiln?", "who fires the kiln?", "glaze", "wholly unrelated zyx"]
IDLE_SECONDS = 3600
SESSIONS = 3
NOT_USED = session_pb2.MEMORY_ASSESSMENT_NOT_USED
COMPLETE = session_pb2.COVERAGE_DECLARATION_COMPLETE
PARTIAL = session_pb2.COVERAGE_DECLARATION_PARTIAL

STEPS = [
    *("recall",) * 6,
    *("feedback",) * 5,
    *("wrong_feedback",) * 2,
    *("batch",) * 1,
    *("cover",) * 3,
    *("commit",) * 4,
    *("repeat",) * 2,
    *("activate",) * 2,
    *("abandon", "expire", "kill"),
]
"""What may happen next, each as often as it is listed."""


class Stage:
    """Two gateways of one store: a whole one, and one that never reaches the deep tier and that may be killed."""

    def __init__(self, whole: Client, blind: Gateway, age: Age, scope: str, restarts: int) -> None:
        self.clients = {"whole": whole, "blind": blind.client()}
        self.age, self.scope = age, scope
        self._blind, self._restarts = blind, restarts
        self._requests = itertools.count()

    def new_request(self) -> str:
        return f"request-{next(self._requests)}"

    def restart(self) -> bool:
        """Kill the blind gateway and start it again, as long as there is time for it; return whether that was done."""
        if not self._restarts:
            return False
        self._restarts -= 1
        self._blind.restart()
        self.clients["blind"].wait_connected()
        return True


@dataclass(frozen=True)
class Draw:
    """What chance decides about one step."""

    gateway: str
    session: int
    retrieval: int
    question: str
    mode: str
    many: int
    complete: bool
    remaining: bool


DRAWS = st.builds(
    Draw,
    gateway=st.sampled_from(["whole", "blind"]),
    session=st.integers(0, SESSIONS - 1),
    retrieval=st.integers(0, 7),
    question=st.sampled_from(QUESTIONS),
    mode=st.sampled_from(["active", "deep"]),
    many=st.integers(0, 4),
    complete=st.booleans(),
    remaining=st.booleans(),
)


def machine(stage: Stage) -> type[RuleBasedStateMachine]:
    """Return the state machine on this stage."""

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.sessions: list[Session] = []
            self.touched: Session | None = None
            self.last: tuple[Session, Callable[[], Any], Any] | None = None

        @initialize(draw=DRAWS)
        def begin(self, draw: Draw) -> None:
            self.activate(draw)

        @rule(step=st.sampled_from(STEPS), draw=DRAWS)
        def act(self, step: str, draw: Draw) -> None:
            self.touched = self.sessions[draw.session % len(self.sessions)]
            getattr(self, step)(draw)

        def activate(self, draw: Draw) -> None:
            if len(self.sessions) == SESSIONS:
                return
            opened = stage.clients[draw.gateway].activate("fire the kiln", "warm hands", scope=stage.scope, top_k=2)
            session = Session(opened.session_id)
            session.retrievals.append(Retrieval(opened.retrieval_id, exposed(opened)))
            self.sessions.append(session)
            self.touched = session

        def recall(self, draw: Draw) -> None:
            session, client, request = self.session, stage.clients[draw.gateway], stage.new_request()

            def call() -> recall_pb2.RecallResponse:
                return client.recall(
                    draw.question,
                    scope=stage.scope,
                    session_id=session.id,
                    mode=draw.mode,
                    top_k=1 + draw.many,
                    request_id=request,
                )

            if session.state is not State.OPEN:
                assert reason(call) == REFUSALS[session.state]
                return
            answer = call()
            assert answer.HasField("deep_tier_error") == (draw.gateway == "blind" and draw.mode == "deep")
            session.retrievals.append(Retrieval(answer.retrieval_id, exposed(answer)))
            self.last = (session, call, answer)

        def feedback(self, draw: Draw) -> None:
            """Valid feedback on some of what is outstanding, with or without `remaining` and COMPLETE."""
            session, client, request = self.session, stage.clients[draw.gateway], stage.new_request()
            retrieval = session.retrievals[draw.retrieval % len(session.retrievals)]
            targets = sorted(retrieval.outstanding)[: draw.many]
            given = item(retrieval.id, targets, complete=draw.complete, remaining=draw.remaining)

            def call() -> session_pb2.FeedbackResponse:
                return client.send(session_calls.feedback(retrieval.id, **single(given), request_id=request))

            answer = call()
            retrieval.take(set(targets), complete=draw.complete, remaining=draw.remaining)
            compare(answer.results[0], retrieval)
            self.last = (session, call, answer)

        def wrong_feedback(self, draw: Draw) -> None:
            """A good entry, one on something never shown, and one that lacks its reason."""
            retrieval = self.session.retrievals[draw.retrieval % len(self.session.retrievals)]
            targets = sorted(retrieval.outstanding)[:1]
            given = item(retrieval.id, [*targets, "sch_999999999"], complete=draw.complete)
            flawed = sorted(t for t in retrieval.exposed if t not in targets and not t.startswith("proc_"))[:1]
            given.memory_feedback.extend(memory_feedback(target, "stale") for target in flawed)
            answer = stage.clients[draw.gateway].send(session_calls.feedback(retrieval.id, **single(given)))
            rejected = {entry.target_id for entry in answer.results[0].rejected if entry.target_id}
            assert rejected == {"sch_999999999", *flawed}
            retrieval.take(set(targets), bad=True, complete=draw.complete)
            compare(answer.results[0], retrieval)

        def batch(self, draw: Draw) -> None:
            """Feedback on the newest retrievals of all sessions, and on one that does not exist."""
            known = [retrieval for session in self.sessions for retrieval in session.retrievals[-2:]]
            items = [item(r.id, sorted(r.outstanding), complete=draw.complete) for r in known]
            unknown = known[0].id[:-1] + ("a" if known[0].id[-1] != "a" else "b")
            answer = stage.clients[draw.gateway].send(
                session_calls.feedback(items=[*items, item(unknown, complete=True)])
            )
            for retrieval, result in zip(known, answer.results, strict=False):
                retrieval.take(retrieval.outstanding, complete=draw.complete)
                compare(result, retrieval)
            assert answer.results[-1].HasField("error")

        def cover(self, draw: Draw) -> None:
            """Complete feedback on all that a session was shown."""
            uncovered = self.session.uncovered
            items = [item(r.id, sorted(r.outstanding), complete=True) for r in uncovered]
            if not items:
                return
            answer = stage.clients[draw.gateway].feedback(items=items)
            for retrieval, result in zip(uncovered, answer.results, strict=True):
                retrieval.take(retrieval.exposed, complete=True)
                compare(result, retrieval)

        def commit(self, draw: Draw) -> None:
            session, client, request = self.session, stage.clients[draw.gateway], stage.new_request()

            def call() -> session_pb2.CommitResponse:
                return client.commit(
                    session.id,
                    scope=stage.scope,
                    final_goal="fire the kiln",
                    outcome="success",
                    outcome_summary="it is warm",
                    request_id=request,
                )

            if session.state is State.ABANDONED:
                assert reason(call) == "SESSION_ENDED"
                return
            if session.state is State.OPEN and session.uncovered:
                with pytest.raises(FeedbackIncompleteError) as refused:
                    call()
                detail = refused.value.feedback_incomplete
                assert detail.total == len(session.uncovered)
                listed = [retrieval.retrieval_id for retrieval in detail.retrievals]
                assert listed == [retrieval.id for retrieval in session.uncovered][: len(listed)]
                return
            answer = call()
            if session.state is State.OPEN:
                session.state = State.COMMITTED
            covered = not session.uncovered
            assert answer.state == session.state.value
            assert (answer.feedback_status == session_pb2.FEEDBACK_STATUS_COMPLETE) == covered
            assert bool(answer.episode_id) == covered
            assert (answer.operation == session_pb2.COMMIT_OPERATION_UPDATED) == session.committed_once
            session.committed_once = True
            self.last = (session, call, answer)

        def abandon(self, draw: Draw) -> None:
            session, client = self.session, stage.clients[draw.gateway]

            def call() -> session_pb2.AbandonSessionResponse:
                return client.abandon_session(session.id, scope=stage.scope)

            if session.state is State.OPEN:
                call()
                session.state = State.ABANDONED
            else:
                assert reason(call) == REFUSALS[session.state]

        def expire(self, draw: Draw) -> None:
            if self.session.state is State.OPEN:
                stage.age(self.session.id, IDLE_SECONDS + 1)
                self.session.state = State.EXPIRED

        def repeat(self, draw: Draw) -> None:
            """The last successful call, sent again with its request id, gets the same answer and does nothing."""
            if self.last is not None:
                self.touched, call, first = self.last
                assert lasting(call()) == lasting(first)

        def kill(self, draw: Draw) -> None:
            """Kill a gateway (kill -9) with a recall in flight, and start it again."""
            session = self.session
            known = {retrieval.id for retrieval in session.retrievals}
            with ThreadPoolExecutor(1) as pool:
                calling = pool.submit(
                    stage.clients["blind"].recall, draw.question, scope=stage.scope, session_id=session.id
                )
                if not stage.restart():
                    calling.exception()
                failed = calling.exception()
            shown = stage.clients["whole"].get_session(session.id, scope=stage.scope, page_size=500)
            new = [retrieval for retrieval in shown.retrievals if retrieval.retrieval_id not in known]
            # An answer that left is in the ledger. One that was lost may be there: then it must be covered.
            assert len(new) <= 1
            assert failed is not None or [r.retrieval_id for r in new] == [calling.result().retrieval_id]
            session.retrievals += [Retrieval(r.retrieval_id, set(r.exposed)) for r in new]

        @property
        def session(self) -> Session:
            assert self.touched is not None
            return self.touched

        @invariant()
        def the_session_is_as_the_model_says(self) -> None:
            if self.touched is not None:
                check(stage, self.touched, "whole")

        def teardown(self) -> None:
            for session in self.sessions:
                check(stage, session, "blind")

    return Machine


def check(stage: Stage, session: Session, gateway: str) -> None:
    """Compare a session as a gateway shows it with the model."""
    shown = stage.clients[gateway].get_session(session.id, scope=stage.scope, page_size=500)
    assert shown.state == session.state.value
    assert [r.retrieval_id for r in shown.retrievals] == [r.id for r in session.retrievals]
    for found, expected in zip(shown.retrievals, session.retrievals, strict=True):
        assert found.covered == expected.complete
        assert set(found.exposed) == expected.exposed
        assert set(found.uncovered.outstanding) == (set() if expected.complete else expected.outstanding)
    assert shown.retrieval_count == len(session.retrievals)
    assert shown.uncovered_count == len(session.uncovered)
    assert shown.state != session_pb2.SESSION_STATE_COMMITTED or shown.uncovered_count == 0


def lasting(answer: Any) -> Any:
    """Return an answer without what later feedback changes in its repetition: the tallies of procedures."""
    if isinstance(answer, recall_pb2.RecallResponse):
        for procedure in answer.procedures:
            procedure.ClearField("evidence")
    return answer


def compare(result: session_pb2.FeedbackResult, retrieval: Retrieval) -> None:
    assert (result.coverage == session_pb2.COVERAGE_COMPLETE) == retrieval.complete
    assert set(result.outstanding) == retrieval.outstanding


def exposed(answer: recall_pb2.RecallResponse | session_pb2.ActivateResponse) -> set[str]:
    hits = [*answer.hits.observations, *answer.hits.turns]
    return {hit.memory_id for hit in hits} | {procedure.procedure_id for procedure in answer.procedures}


def item(
    retrieval: str, targets: Sequence[str] = (), *, complete: bool = False, remaining: bool = False
) -> session_pb2.FeedbackItem:
    """Return feedback that finds each target useless."""
    return session_pb2.FeedbackItem(
        retrieval_id=retrieval,
        memory_feedback=[memory_feedback(t, "not_used") for t in targets if not t.startswith("proc_")],
        procedure_feedback=[procedure_feedback(t, "not_used") for t in targets if t.startswith("proc_")],
        coverage=COMPLETE if complete else PARTIAL,
        remaining=NOT_USED if remaining else session_pb2.MEMORY_ASSESSMENT_UNSPECIFIED,
    )


def single(given: session_pb2.FeedbackItem) -> dict[str, Any]:
    """Return the arguments of the single form."""
    return {
        "memory_feedback": list(given.memory_feedback),
        "procedure_feedback": list(given.procedure_feedback),
        "coverage": given.coverage,
        "remaining": given.remaining,
    }


def reason(call: Callable[[], object]) -> str:
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value.reason
