"""What feedback teaches: absolute values, the same after any replay and in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.internal.v1 import store_pb2
from remembrancer.model import learning
from remembrancer.model.ids import number_of
from remembrancer.model.ledger import latest_rows
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from tests.unit.model.messages import (
    HARMED,
    HELPED,
    IRRELEVANT,
    NO_EFFECT,
    NOT_USED,
    at,
    memory,
    procedure,
    row,
    used_procedure,
)

SUCCESS = store_pb2.SessionOutcome(outcome=common_pb2.OUTCOME_SUCCESS, outcome_summary="it held")
NOT_USED_PROCEDURE = session_pb2.PROCEDURE_ASSESSMENT_NOT_USED


def test_a_memory_gains_and_loses() -> None:
    learned = store_pb2.Learned()
    helped, harmed = row(memory("sch_1", effect=HELPED)), row(memory("sch_1", effect=HARMED))
    assert learning.learn_memory(learned, None, helped) == 1
    assert learning.learn_memory(learned, helped, harmed) == -2
    assert (learned.helped, learned.harmed) == (0, 1)
    assert learning.learn_memory(learned, harmed, row(memory("sch_1", NOT_USED))) == 1
    assert (learned.helped, learned.harmed, learned.not_used) == (0, 0, 1)


def test_s12_used_then_irrelevant_takes_the_gain_back_and_two_retrievals_count_twice() -> None:
    learned = store_pb2.Learned()
    used = row(memory("sch_1", effect=HELPED))
    learning.learn_memory(learned, None, used)
    learning.learn_memory(learned, used, row(memory("sch_1", IRRELEVANT)))
    assert learned == store_pb2.Learned()
    for _ in range(2):
        learning.learn_memory(learned, None, used)
    assert learned.helped == 2


def test_the_tallies_of_a_procedure_add_up() -> None:
    learned = store_pb2.Learned()
    effects = [
        recall_pb2.PROCEDURE_EFFECT_HELPED,
        recall_pb2.PROCEDURE_EFFECT_NO_EFFECT,
        recall_pb2.PROCEDURE_EFFECT_HARMED,
        recall_pb2.PROCEDURE_EFFECT_UNKNOWN,
    ]
    for i, effect in enumerate(effects):
        learning.learn_procedure(learned, None, row(used_procedure("proc_1", effect), i), f"ret_{i}", "ses", None)
    assert (learned.helped, learned.no_effect, learned.harmed, learned.unknown) == (1, 1, 1, 1)
    assert [use.effect for use in learned.uses] == effects
    before = row(used_procedure("proc_1", effects[0]), 0)
    after = row(procedure("proc_1", NOT_USED_PROCEDURE), 9)
    learning.learn_procedure(learned, before, after, "ret_0", "ses", None)
    assert (learned.helped, learned.not_used) == (0, 1)
    assert [use.retrieval_id for use in learned.uses] == ["ret_1", "ret_2", "ret_3"]


def test_a_use_gets_the_outcome_of_its_session_when_it_commits_or_has_committed() -> None:
    learned = store_pb2.Learned()
    learning.learn_procedure(learned, None, row(used_procedure("proc_1"), 1), "ret_1", "ses_1", None)
    learning.learn_procedure(learned, None, row(used_procedure("proc_1"), 2), "ret_2", "ses_2", SUCCESS)
    assert [use.outcome for use in learned.uses] == [common_pb2.OUTCOME_UNKNOWN, common_pb2.OUTCOME_SUCCESS]
    assert learned.uses[1].outcome_summary == "it held"
    failure = store_pb2.SessionOutcome(outcome=common_pb2.OUTCOME_FAILURE, outcome_summary="it broke")
    assert learning.settle_uses(learned, "ses_1", failure)
    assert not learning.settle_uses(learned, "ses_9", failure)
    assert [use.outcome_summary for use in learned.uses] == ["it broke", "it held"]


def test_only_the_newest_uses_and_edges_are_kept() -> None:
    learned = store_pb2.Learned()
    for i in reversed(range(learning.USES_KEPT + 5)):
        learning.learn_procedure(learned, None, row(used_procedure("proc_1"), i), f"ret_{i:03}", "ses", None)
    assert learned.helped == learning.USES_KEPT + 5
    assert [use.at.seconds for use in learned.uses] == list(range(5, learning.USES_KEPT + 5))
    for i in reversed(range(learning.EDGES_KEPT + 5)):
        learning.link(learned, 7, f"ret_{i:03}", at(i))
    assert [edge.at.seconds for edge in learned.used_together] == list(range(5, learning.EDGES_KEPT + 5))


def test_memories_used_without_harm_in_one_retrieval_are_linked() -> None:
    exposed = ["evt_9", "sch_2", "sch_5", "sch_7", "ep_8", "proc_1"]
    latest = {
        "evt_9": row(memory("evt_9", effect=HELPED), 3),
        "sch_2": row(memory("sch_2", effect=NO_EFFECT), 1),
        "sch_5": row(memory("sch_5", effect=HARMED), 1),
        "sch_7": row(memory("sch_7", NOT_USED), 1),
        "ep_8": row(memory("ep_8", effect=HELPED), 2),
        "proc_1": row(used_procedure("proc_1"), 1),
    }
    assert learning.used_together(exposed, latest) == {(2, 8): at(2), (2, 9): at(3), (8, 9): at(3)}


def test_one_retrieval_links_no_more_than_so_many() -> None:
    exposed = [f"sch_{n}" for n in range(1, 61)]
    latest = {target: row(memory(target, effect=HELPED)) for target in exposed}
    pairs = learning.used_together(exposed, latest)
    assert len(pairs) == learning.PAIRED * (learning.PAIRED - 1) // 2
    assert max(high for _, high in pairs) == learning.PAIRED


@dataclass
class Partition:
    """What is learned of all records, fed row by row as feedback comes in."""

    exposed: dict[str, list[str]]
    logs: dict[str, store_pb2.FeedbackLog] = field(default_factory=dict)
    learned: dict[int, store_pb2.Learned] = field(default_factory=dict)

    def of(self, n: int) -> store_pb2.Learned:
        return self.learned.setdefault(n, store_pb2.Learned())

    def take(self, retrieval: str, new: store_pb2.FeedbackRow) -> None:
        log = self.logs.setdefault(retrieval, store_pb2.FeedbackLog())
        before = latest_rows(log)
        log.rows.append(new)
        after = latest_rows(log)
        target = new.memory.memory_id or new.procedure.procedure_id
        if new.WhichOneof("target") == "memory":
            learning.learn_memory(self.of(number_of(target)), before.get(target), new)
        else:
            learning.learn_procedure(self.of(number_of(target)), before.get(target), new, retrieval, "ses", None)
        old = learning.used_together(self.exposed[retrieval], before)
        pairs = learning.used_together(self.exposed[retrieval], after)
        for (low, high), moment in pairs.items():
            if old.get((low, high)) != moment:
                learning.link(self.of(low), high, retrieval, moment)
        for low, high in old.keys() - pairs.keys():
            learning.unlink(self.of(low), high, retrieval)

    def values(self) -> dict[int, bytes]:
        raw = {n: learned.SerializeToString(deterministic=True) for n, learned in self.learned.items()}
        return {n: value for n, value in raw.items() if value}


EXPOSED = {"ret_a": ["sch_1", "sch_2", "evt_3", "proc_9"], "ret_b": ["evt_3", "sch_1", "proc_9"], "ret_c": ["sch_2"]}


@st.composite
def rows(draw: st.DrawFn) -> list[tuple[str, store_pb2.FeedbackRow]]:
    """Rows in the order of their times."""
    made: list[tuple[str, store_pb2.FeedbackRow]] = []
    for second in range(draw(st.integers(0, 20))):
        retrieval = draw(st.sampled_from(sorted(EXPOSED)))
        target = draw(st.sampled_from(EXPOSED[retrieval]))
        if target.startswith("proc_"):
            entry: session_pb2.MemoryFeedback | session_pb2.ProcedureFeedback = draw(
                st.one_of(
                    st.builds(used_procedure, st.just(target), st.integers(1, 4)),
                    st.just(procedure(target, NOT_USED_PROCEDURE)),
                )
            )
        else:
            entry = draw(
                st.one_of(
                    st.builds(memory, st.just(target), effect=st.integers(1, 3)),
                    st.builds(memory, st.just(target), st.sampled_from([IRRELEVANT, NOT_USED])),
                )
            )
        made.append((retrieval, row(entry, second)))
    return made


def _target(new: store_pb2.FeedbackRow) -> str:
    return new.memory.memory_id or new.procedure.procedure_id


@settings(max_examples=40)
@given(rows(), st.randoms(use_true_random=False))
def test_the_rows_that_count_teach_the_same_in_any_order(
    history: list[tuple[str, store_pb2.FeedbackRow]], random: Random
) -> None:
    lived = Partition(EXPOSED)
    for retrieval, new in history:
        lived.take(retrieval, new)
    counting = list({(retrieval, _target(new)): (retrieval, new) for retrieval, new in history}.values())
    random.shuffle(counting)
    replayed = Partition(EXPOSED)
    for retrieval, new in counting:
        replayed.take(retrieval, new)
    assert replayed.values() == lived.values()
    tally = lived.of(9)
    assert tally.helped + tally.no_effect + tally.harmed + tally.unknown == len(tally.uses)
    assert min(tally.helped, tally.no_effect, tally.harmed, tally.unknown, tally.not_used) >= 0
