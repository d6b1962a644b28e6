"""Random steps against real gateways, each compared with a simple model at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
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
    context_entry,
    memory,
    memory_feedback,
    session_calls,
    turn,
)
from remembrancer.model.ids import is_procedure
from remembrancer.v1 import memory_pb2, recall_pb2, session_pb2
from tests.gateway import Gateway
from tests.integration.sessions.conftest import Age
from tests.integration.sessions.ledger_model import REFUSALS, Retrieval, Session, State
from tests.integration.sessions.ledger_words import OF_MEMORIES, OF_THE_REST, item, lasting, single, stale_in

QUESTIONS = ["where is the kiln?", "who fires the kiln?", "glaze", "wholly unrelated zyx"]
IDLE_SECONDS = 3600
SESSIONS = 3
STEPS = [
    *("recall",) * 4,
    *("recall_with_context",) * 3,
    *("feedback",) * 5,
    *("wrong_feedback",) * 2,
    *("other_feedback",) * 2,
    *("remember",) * 3,
    *("forget",) * 1,
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
        self.gone: set[str] = set()
        """Memories that were forgotten or declared stale: no later retrieval shows them."""

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
    said: int
    remaining: str


DRAWS = st.builds(
    Draw,
    gateway=st.sampled_from(["whole", "blind"]),
    session=st.integers(0, SESSIONS - 1),
    retrieval=st.integers(0, 7),
    question=st.sampled_from(QUESTIONS),
    mode=st.sampled_from(["active", "deep"]),
    many=st.integers(0, 4),
    complete=st.booleans(),
    said=st.integers(0, len(OF_MEMORIES) - 1),
    remaining=st.sampled_from(OF_THE_REST),
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
            self.note(session, opened)
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
            self.note(session, answer)
            self.last = (session, call, answer)

        def recall_with_context(self, draw: Draw) -> None:
            """What is recent, or what fits a question, merged with a held conversation."""
            session, client, request = self.session, stage.clients[draw.gateway], stage.new_request()

            def call() -> recall_pb2.RecallWithContextResponse:
                return client.recall_with_context(
                    "" if draw.complete else draw.question,
                    scope=stage.scope,
                    session_id=session.id,
                    agent_id="default-agent",
                    mode=draw.mode,
                    limit=draw.many,
                    external_context=[context_entry(draw.question, role="user")],
                    request_id=request,
                )

            if session.state is not State.OPEN:
                assert reason(call) == REFUSALS[session.state]
                return
            answer = call()
            self.note(session, answer)
            self.last = (session, call, answer)

        def remember(self, draw: Draw) -> None:
            """Store a statement or a turn, credited to the session."""
            session, client, request = self.session, stage.clients[draw.gateway], stage.new_request()
            text = f"Note {request.rpartition('-')[2]} on the kiln."

            def call() -> memory_pb2.RememberResponse | memory_pb2.RecordTurnsResponse:
                same: dict[str, Any] = {"scope": stage.scope, "session_id": session.id, "request_id": request}
                if draw.complete:
                    return client.record_turns([turn(text, name="Odile")], **same)
                return client.remember([memory("fact", text)], **same)

            if session.state is not State.OPEN:
                assert reason(call) == REFUSALS[session.state]
                return
            answer = call()
            assert answer.results[0].disposition == memory_pb2.WRITE_DISPOSITION_CREATED
            self.last = (session, call, answer)

        def forget(self, draw: Draw) -> None:
            """Erase one memory: what was exposed stays in the ledger and can still be assessed."""
            client = stage.clients[draw.gateway]
            known = [m.memory_id for m in client.list_memories(scope=stage.scope).memories]
            memories = [name for name in known if not is_procedure(name)]
            if memories:
                chosen = memories[draw.retrieval % len(memories)]
                assert client.forget(chosen, scope=stage.scope).forgotten >= 1
                self.go([chosen])

        def feedback(self, draw: Draw) -> None:
            """Valid feedback on some of what is outstanding, with or without `remaining` and COMPLETE."""
            session, client, request = self.session, stage.clients[draw.gateway], stage.new_request()
            retrieval = session.retrievals[draw.retrieval % len(session.retrievals)]
            targets = sorted(retrieval.outstanding)[: draw.many]
            given = item(retrieval.id, targets, draw.said, complete=draw.complete, remaining=draw.remaining)

            def call() -> session_pb2.FeedbackResponse:
                return client.send(session_calls.feedback(retrieval.id, **single(given), request_id=request))

            answer = call()
            retrieval.take(set(targets), complete=draw.complete, remaining=bool(draw.remaining), stale=stale_in(given))
            compare(answer.results[0], retrieval)
            self.last = (session, call, answer)
            self.go(stale_in(given))

        def other_feedback(self, draw: Draw) -> None:
            """Other words on what was assessed before: they count instead, unless it was declared stale."""
            retrieval = self.session.retrievals[draw.retrieval % len(self.session.retrievals)]
            targets = sorted(retrieval.assessed)[: draw.many]
            given = item(retrieval.id, targets, draw.said, complete=draw.complete)
            final = retrieval.stale & set(targets) - stale_in(given)
            answer = stage.clients[draw.gateway].send(session_calls.feedback(retrieval.id, **single(given)))
            assert {entry.target_id for entry in answer.results[0].rejected if entry.target_id} == final
            retrieval.take(set(targets) - final, bad=bool(final), complete=draw.complete, stale=stale_in(given))
            compare(answer.results[0], retrieval)
            self.go(stale_in(given))

        def wrong_feedback(self, draw: Draw) -> None:
            """A good entry, one on something never shown, and one that lacks its reason."""
            retrieval = self.session.retrievals[draw.retrieval % len(self.session.retrievals)]
            targets = sorted(retrieval.outstanding)[:1]
            given = item(retrieval.id, [*targets, "sch_999999999"], draw.said, complete=draw.complete)
            others = retrieval.exposed - retrieval.stale - set(targets)
            flawed = sorted(target for target in others if not is_procedure(target))[:1]
            given.memory_feedback.extend(memory_feedback(target, "stale") for target in flawed)
            answer = stage.clients[draw.gateway].send(session_calls.feedback(retrieval.id, **single(given)))
            rejected = {entry.target_id for entry in answer.results[0].rejected if entry.target_id}
            assert rejected == {"sch_999999999", *flawed}
            stale = stale_in(given) & set(targets)
            retrieval.take(set(targets), bad=True, complete=draw.complete, stale=stale)
            compare(answer.results[0], retrieval)
            self.go(stale)

        def batch(self, draw: Draw) -> None:
            """Feedback on the newest retrievals of all sessions, and on one that does not exist."""
            known = [retrieval for session in self.sessions for retrieval in session.retrievals[-2:]]
            items = [item(r.id, sorted(r.outstanding), draw.said, complete=draw.complete) for r in known]
            unknown = known[0].id[:-1] + ("a" if known[0].id[-1] != "a" else "b")
            answer = stage.clients[draw.gateway].send(
                session_calls.feedback(items=[*items, item(unknown, complete=True)])
            )
            for retrieval, given, result in zip(known, items, answer.results, strict=False):
                retrieval.take(retrieval.outstanding, complete=draw.complete, stale=stale_in(given))
                compare(result, retrieval)
                self.go(stale_in(given))
            assert answer.results[-1].HasField("error")

        def cover(self, draw: Draw) -> None:
            """Complete feedback on all that a session was shown."""
            uncovered = self.session.uncovered
            items = [item(r.id, sorted(r.outstanding), draw.said, complete=True) for r in uncovered]
            if not items:
                return
            answer = stage.clients[draw.gateway].feedback(items=items)
            for retrieval, given, result in zip(uncovered, items, answer.results, strict=True):
                retrieval.take(retrieval.exposed, complete=True, stale=stale_in(given))
                compare(result, retrieval)
                self.go(stale_in(given))

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
            if session.episode:
                # Once formed it stays, unless it was forgotten, or with its last member.
                found = client.get_contents([session.episode], scope=stage.scope).contents
                assert answer.episode_id == (session.episode if found else "")
            else:
                assert bool(answer.episode_id) == covered
                session.episode = answer.episode_id
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

        def note(self, session: Session, answer: Any) -> None:
            """Note a new retrieval of a session; nothing that is gone is in it."""
            shown = exposed(answer)
            assert not shown & stage.gone
            session.retrievals.append(Retrieval(answer.retrieval_id, shown))

        def go(self, names: Iterable[str]) -> None:
            """Note what no later retrieval may show. Answers that are repeated lack what was erased since."""
            if gone := set(names):
                stage.gone |= gone
                self.last = None

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


def compare(result: session_pb2.FeedbackResult, retrieval: Retrieval) -> None:
    assert (result.coverage == session_pb2.COVERAGE_COMPLETE) == retrieval.complete
    assert set(result.outstanding) == retrieval.outstanding


def exposed(answer: Any) -> set[str]:
    """Return what an answer exposed."""
    procedures = {procedure.procedure_id for procedure in answer.procedures}
    if isinstance(answer, recall_pb2.RecallWithContextResponse):
        origin = recall_pb2.MESSAGE_ORIGIN_MEMORY
        return procedures | {message.memory.memory_id for message in answer.messages if message.origin == origin}
    return procedures | {hit.memory_id for hit in (*answer.hits.observations, *answer.hits.turns)}


def reason(call: Callable[[], object]) -> str:
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value.reason
