"""The demo's story, told with real calls: every step checks that it showed what it should."""

from __future__ import annotations

import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from remembrancer.cli.demo.conversation import Conversation
from remembrancer.cli.demo.show import Narrator, all_hits
from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.supervisor import Supervisor
from remembrancer.client import Client, FeedbackIncompleteError, memory_feedback, name_of, reason_of
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2

GOAL = "Marta knows everything she must know about the dog"
GRAPH_QUESTION = "What do we know about the greyhound that Ines adopted?"
WHERE_QUESTION = "Where does Ines live now?"
TICKET_QUESTION = "What was PAY-4471 about?"
ONLY_BY_GRAPH = "pill every morning"
ABOUT_HER = ("Biscuit", "greyhound", "dog")
BACK_S = 5.0


class Story:
    """One telling of the story; the steps go in the order in which they stand here."""

    def __init__(self, client: Client, supervisor: Supervisor, narrator: Narrator, conversation: Conversation) -> None:
        """Take a client of a fresh service, what runs it, who tells, and what there is to remember."""
        self._client = client
        self._supervisor = supervisor
        self._narrator = narrator
        self._conversation = conversation
        self._scope = conversation.scope
        self._session = session_pb2.ActivateResponse()
        self._answers: list[tuple[str, list[recall_pb2.Hit]]] = []

    def tell(self) -> None:
        """Tell the whole story."""
        self.record()
        self.open_session()
        self.recall_active()
        self.recall_deep()
        self.commit_too_early()
        self.give_feedback()
        self.commit()
        self.recall_with_a_tier_down()

    def record(self) -> None:
        """Write the conversation, a sitting at a time."""
        count = self._conversation.turn_count
        self._narrator.chapter(
            "Two friends talk",
            f"{count} turns in {len(self._conversation.sittings)} sittings, February to October 2024.",
        )
        embedded = 0
        bar = Progress(TextColumn("recording turns"), BarColumn(), MofNCompleteColumn(), console=self._narrator.console)
        with bar:
            task = bar.add_task("", total=count)
            for sitting in self._conversation.sittings:
                written = self._client.record_turns(
                    sitting.turns, scope=self._scope, axes={"conversation_id": sitting.conversation_id}
                )
                embedded += sum(result.embedded for result in written.results)
                bar.advance(task, len(sitting.turns))
        self._narrator.expect(f"all {count} turns are stored and can be found by meaning", held=embedded == count)

    def open_session(self) -> None:
        """Open a session for the task."""
        self._narrator.chapter(
            "A session for one task",
            "Ines's assistant is to write a note for Marta, who will look after the dog. Opening the session already "
            "recalls what is relevant to the task.",
        )
        self._session = self._client.activate("Write a note for the dog sitter", GOAL, scope=self._scope)
        hits = [*self._session.hits.observations, *self._session.hits.turns]
        self._answers.append((self._session.retrieval_id, hits))
        self._narrator.hits("recalled for the task", hits)
        self._narrator.expect(
            "the scope holds memories", held=self._session.memory_state == session_pb2.MEMORY_STATE_AVAILABLE
        )

    def recall_active(self) -> None:
        """Ask the active tier: a changed fact, and an identifier."""
        self._narrator.chapter(
            "Recall from the active tier", "Vectors and words, side by side: a fact that changed, and a ticket number."
        )
        where = self._recall(WHERE_QUESTION, top_k=5)
        self._narrator.hits(WHERE_QUESTION, where)
        self._narrator.expect(
            "the move to Rotterdam is among the hits", held=any("lived in Rotterdam" in hit.content for hit in where)
        )
        ticket = self._recall(TICKET_QUESTION, top_k=3)
        self._narrator.hits(TICKET_QUESTION, ticket)
        self._narrator.expect("the best hit names PAY-4471", held=bool(ticket) and "PAY-4471" in ticket[0].content)

    def recall_deep(self) -> None:
        """Ask both tiers: the graph adds what neither words nor meaning would have brought."""
        self._narrator.chapter(
            "Recall from both tiers",
            "One turn calls the greyhound Biscuit. Seven months later Biscuit falls ill, and nobody says 'greyhound'.",
        )
        active = self._recall(GRAPH_QUESTION, top_k=5)
        deep = self._recall(GRAPH_QUESTION, top_k=5, mode="deep")
        self._narrator.hits(GRAPH_QUESTION, deep)
        found = [hit for hit in deep if ONLY_BY_GRAPH in hit.content]
        self._narrator.expect(
            "the active tier alone did not bring the pill", held=not any(ONLY_BY_GRAPH in hit.content for hit in active)
        )
        self._narrator.expect(
            "the graph did, and says by which path",
            held=bool(found)
            and found[0].pathway == recall_pb2.PATHWAY_ASSOCIATED
            and list(found[0].found_by) == [common_pb2.TIER_DEEP]
            and bool(found[0].why),
        )

    def commit_too_early(self) -> None:
        """Try to commit before any feedback."""
        self._narrator.chapter(
            "A commit, refused",
            "The note is written. But nobody has said yet what became of the memories that were shown.",
        )
        try:
            self._commit()
        except FeedbackIncompleteError as refused:
            self._narrator.say(str(refused), "yellow")
            self._narrator.uncovered(refused.feedback_incomplete)
            listed = {retrieval.retrieval_id for retrieval in refused.feedback_incomplete.retrievals}
            self._narrator.expect(
                "every retrieval of the session is listed", held=listed == {answer for answer, _ in self._answers}
            )
        else:
            self._narrator.expect("the commit is refused", held=False)

    def give_feedback(self) -> None:
        """Say what became of everything that was shown."""
        self._narrator.chapter(
            "Feedback", "For each retrieval: what helped, and that the rest was not used. COMPLETE says: that is all."
        )
        complete = 0
        for retrieval_id, hits in self._answers:
            useful = [hit for hit in hits if any(word in hit.content for word in ABOUT_HER)]
            result = self._client.feedback(
                retrieval_id,
                memory_feedback=[memory_feedback(hit.memory_id, "used", effect="helped") for hit in useful],
                remaining="not_used",
                coverage="complete",
            ).results[0]
            complete += result.coverage == session_pb2.COVERAGE_COMPLETE
            applied = result.applied
            self._narrator.say(
                f"{len(useful)} of {len(hits)} helped: {applied.strengthened} strengthened, {applied.linked} linked"
            )
        self._narrator.expect("every retrieval is covered", held=complete == len(self._answers))

    def commit(self) -> None:
        """Commit again."""
        self._narrator.chapter("The commit, accepted", "The same call as before.")
        done = self._commit()
        self._narrator.say(f"session {name_of(done, 'state')}, episode {done.episode_id}")
        self._narrator.expect("the session formed an episode", held=done.episode_id.startswith("ep_"))

    def recall_with_a_tier_down(self) -> None:
        """Kill the deep worker, recall, bring it back."""
        self._narrator.chapter(
            "A recall with the deep worker killed", "kill -9. The active tier answers alone, and the answer says so."
        )
        self._session = self._client.activate(
            "Add to the note", GOAL, scope=self._scope, continuity_id=self._session.continuity_id
        )
        self._supervisor.kill(Role.DEEP)
        degraded = self._ask(GRAPH_QUESTION, top_k=3, mode="deep")
        self._narrator.hits(GRAPH_QUESTION, all_hits(degraded))
        error = degraded.deep_tier_error
        self._narrator.say(f"deep_tier_error: {reason_of(error)}: {error.message}", "yellow")
        self._narrator.expect("the active tier still answers", held=bool(all_hits(degraded)))
        self._narrator.expect(
            "the answer says that the deep tier failed",
            held=degraded.HasField("deep_tier_error") and bool(reason_of(error)),
        )
        self._supervisor.start_role(Role.DEEP)
        self._supervisor.wait_ready(Role.DEEP)
        self._narrator.expect("restarted, the deep tier answers from the store again", held=self._deep_is_back())

    def _deep_is_back(self) -> bool:
        # The gateway's attempts to reach a lost worker are up to a quarter of a second apart.
        deadline = time.monotonic() + BACK_S
        while True:
            answer = self._ask(GRAPH_QUESTION, top_k=3, mode="deep")
            if not answer.HasField("deep_tier_error"):
                return any(hit.pathway == recall_pb2.PATHWAY_ASSOCIATED for hit in all_hits(answer))
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)

    def _commit(self) -> session_pb2.CommitResponse:
        return self._client.commit(
            self._session.session_id,
            scope=self._scope,
            final_goal=GOAL,
            outcome="success",
            outcome_summary="The note says when to walk the dog, what keeps her warm, and which pill she takes.",
        )

    def _recall(self, query: str, *, top_k: int, mode: str = "active") -> list[recall_pb2.Hit]:
        answer = self._ask(query, top_k=top_k, mode=mode)
        hits = all_hits(answer)
        self._answers.append((answer.retrieval_id, hits))
        return hits

    def _ask(self, query: str, *, top_k: int, mode: str = "active") -> recall_pb2.RecallResponse:
        return self._client.recall(
            query, scope=self._scope, session_id=self._session.session_id, top_k=top_k, mode=mode
        )
