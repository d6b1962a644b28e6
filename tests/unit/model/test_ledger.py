"""The ledger's rules: what covers a retrieval, and which row counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ledger import Entry, Verdict, judge, latest_rows, outstanding
from remembrancer.v1 import common_pb2, session_pb2
from tests.unit.model.messages import (
    HARMED,
    IRRELEVANT,
    NOT_USED,
    STALE,
    USED,
    among,
    at,
    item,
    memory,
    nothing,
    observation,
    procedure,
    retrieval,
    used_procedure,
)

EXPOSED = ["sch_1", "evt_2", "ep_3", "proc_4"]
INCOMPLETE = session_pb2.FEEDBACK_REJECTION_INCOMPLETE_COVERAGE


@dataclass
class Ledger:
    """A retrieval with its log, fed item after item."""

    exposed: list[str] = field(default_factory=lambda: list(EXPOSED))
    log: store_pb2.FeedbackLog = field(default_factory=store_pb2.FeedbackLog)
    records: dict[int, store_pb2.Record] = field(default_factory=dict)
    clock: int = 0

    def take(self, given: session_pb2.FeedbackItem) -> Verdict:
        self.clock += 1
        verdict = judge(retrieval(self.exposed), self.log, given, at(self.clock), among(self.records))
        self.log = verdict.log
        return verdict


ALL: list[Entry] = [memory("sch_1"), memory("evt_2", IRRELEVANT), memory("ep_3", NOT_USED), used_procedure("proc_4")]


def test_s6_every_target_assessed_is_not_yet_covered() -> None:
    ledger = Ledger()
    verdict = ledger.take(item(*ALL))
    assert verdict.outstanding == []
    assert not verdict.covered
    assert ledger.take(item(complete=True)).covered


def test_partial_feedback_adds_up_in_any_order() -> None:
    ledger = Ledger()
    for entry in reversed(ALL):
        assert not ledger.take(item(entry)).covered
    assert ledger.take(item(complete=True)).covered


def test_s5_an_empty_retrieval_needs_its_declaration_too() -> None:
    ledger = Ledger(exposed=[])
    assert not ledger.take(item()).covered
    assert ledger.take(item(complete=True)).covered


def test_s8_complete_with_something_missing_is_refused_and_the_rest_counts() -> None:
    ledger = Ledger()
    verdict = ledger.take(item(*ALL[:3], complete=True))
    assert not verdict.covered
    assert verdict.outstanding == ["proc_4"]
    assert verdict.accepted == 3
    assert [(r.target_id, r.reason, r.field) for r in verdict.rejected] == [("", INCOMPLETE, "coverage")]
    assert ledger.take(item(ALL[3], complete=True)).covered


def test_s9_complete_beside_a_bad_entry_is_refused() -> None:
    ledger = Ledger()
    verdict = ledger.take(item(*ALL, memory("sch_99"), complete=True))
    assert [r.target_id for r in verdict.rejected] == ["sch_99", ""]
    assert verdict.accepted == 4
    assert verdict.outstanding == []
    assert not verdict.covered
    assert ledger.take(item(complete=True)).covered


def test_a_covered_retrieval_stays_covered_whatever_comes() -> None:
    ledger = Ledger()
    ledger.take(item(*ALL, complete=True))
    verdict = ledger.take(item(memory("sch_99"), complete=True))
    assert verdict.covered
    assert verdict.rejected


def test_remaining_assesses_memories_neither_listed_nor_assessed_before() -> None:
    ledger = Ledger()
    ledger.take(item(memory("sch_1", effect=HARMED)))
    verdict = ledger.take(item(memory("evt_2", 77), remaining=NOT_USED))
    assert verdict.accepted == 1
    rows = latest_rows(ledger.log)
    assert rows["sch_1"].memory.assessment == USED
    assert rows["ep_3"].memory.assessment == NOT_USED
    # What was listed, well or badly, is not among the remaining; procedures never are.
    assert verdict.outstanding == ["evt_2", "proc_4"]


def test_a_target_is_listed_once_in_a_call() -> None:
    verdict = Ledger().take(item(memory("sch_1"), memory("sch_1", IRRELEVANT)))
    assert verdict.accepted == 1
    assert [r.reason for r in verdict.rejected] == [session_pb2.FEEDBACK_REJECTION_TARGET_REPEATED]
    assert verdict.rejected[0].field == "memory_feedback[1]"


def test_the_same_again_changes_nothing() -> None:
    ledger = Ledger()
    ledger.take(item(*ALL))
    verdict = ledger.take(item(*ALL))
    assert (verdict.accepted, verdict.unchanged) == (4, 4)
    assert verdict.changes == []
    assert len(ledger.log.rows) == 4


def test_the_last_row_counts_and_is_the_only_one_kept() -> None:
    ledger = Ledger()
    ledger.take(item(memory("sch_1")))
    (change,) = ledger.take(item(memory("sch_1", IRRELEVANT))).changes
    assert change.before is not None
    assert change.before.memory.assessment == USED
    assert [row.memory.assessment for row in ledger.log.rows] == [IRRELEVANT]
    assert latest_rows(ledger.log)["sch_1"].memory.assessment == IRRELEVANT


def test_t15_a_log_stays_bounded_when_an_assessment_is_flipped() -> None:
    ledger = Ledger()
    ledger.take(item(*ALL))
    size = ledger.log.ByteSize()
    for i in range(1000):
        (change,) = ledger.take(item(memory("sch_1", IRRELEVANT if i % 2 == 0 else USED))).changes
        assert change.before is not None
        assert len(ledger.log.rows) == 4
        assert ledger.log.ByteSize() <= size + 8
    assert list(latest_rows(ledger.log)) == ["evt_2", "ep_3", "proc_4", "sch_1"]


def test_t15_a_log_that_has_grown_shrinks_with_the_next_feedback() -> None:
    ledger = Ledger()
    for i in range(100):
        ledger.log.rows.add(memory=memory("sch_1", IRRELEVANT if i % 2 else USED), at=at(i))
    ledger.take(item(memory("evt_2")))
    assert [row.memory.memory_id for row in ledger.log.rows] == ["sch_1", "evt_2"]
    assert ledger.log.rows[0].memory.assessment == IRRELEVANT


def stale(target: str, replacement: str = "") -> session_pb2.MemoryFeedback:
    reason = common_pb2.STALE_REASON_SUPERSEDED if replacement else common_pb2.STALE_REASON_OUTDATED
    return memory(target, STALE, stale_reason=reason, reason="no longer", replacement_memory_id=replacement)


def test_an_accepted_stale_is_final() -> None:
    ledger = Ledger()
    ledger.take(item(stale("sch_1")))
    verdict = ledger.take(item(memory("sch_1")))
    assert [r.reason for r in verdict.rejected] == [session_pb2.FEEDBACK_REJECTION_STALE_IS_FINAL]
    assert latest_rows(ledger.log)["sch_1"].memory.assessment == STALE


def test_a_repeated_stale_is_accepted_even_when_its_replacement_is_gone() -> None:
    ledger = Ledger(records={7: observation()})
    assert ledger.take(item(stale("sch_1", "sch_7"))).accepted == 1
    ledger.records.clear()
    verdict = ledger.take(item(stale("sch_1", "sch_7")))
    assert (verdict.accepted, verdict.unchanged, verdict.rejected) == (1, 1, [])


def test_two_memories_cannot_replace_each_other_in_one_call() -> None:
    ledger = Ledger(exposed=["sch_1", "sch_2"], records={1: observation(), 2: observation()})
    verdict = ledger.take(item(stale("sch_1", "sch_2"), stale("sch_2", "sch_1")))
    assert verdict.accepted == 1
    assert [(r.target_id, r.reason) for r in verdict.rejected] == [
        ("sch_2", session_pb2.FEEDBACK_REJECTION_REPLACEMENT_NOT_ACTIVE)
    ]


def test_quality_and_what_was_missing_are_kept_from_the_last_call_that_said_so() -> None:
    ledger = Ledger()
    first = item()
    first.retrieval_quality, first.missing[:] = session_pb2.RETRIEVAL_QUALITY_POOR, ["the address"]
    ledger.take(first)
    ledger.take(item(memory("sch_1")))
    assert ledger.log.retrieval_quality == session_pb2.RETRIEVAL_QUALITY_POOR
    assert list(ledger.log.missing) == ["the address"]


def test_echoed_targets_are_short() -> None:
    verdict = Ledger().take(item(memory("x" * 100_000)))
    assert len(verdict.rejected[0].target_id) <= 64


TARGETS = st.sampled_from([*EXPOSED, "sch_99", "proc_99"])
ENTRIES = st.one_of(
    st.builds(memory, TARGETS, st.integers(0, 7), effect=st.integers(0, 4), reason=st.sampled_from(["", "because"])),
    st.builds(
        procedure, TARGETS, st.integers(0, 4), effect=st.integers(0, 5), contribution=st.sampled_from(["", "the order"])
    ),
)


@st.composite
def items(draw: st.DrawFn) -> session_pb2.FeedbackItem:
    entries = draw(st.lists(ENTRIES, max_size=5))
    return item(*entries, complete=draw(st.booleans()), remaining=draw(st.sampled_from([0, NOT_USED, IRRELEVANT])))


@given(st.lists(items(), max_size=8))
def test_covered_means_all_assessed_and_declared_and_never_ends(calls: list[session_pb2.FeedbackItem]) -> None:
    ledger, assessed, covered = Ledger(), set[str](), False
    for call in calls:
        before = len(ledger.log.rows)
        verdict = ledger.take(call)
        new = [change for change in verdict.changes if change.before is None]
        assert len(ledger.log.rows) == before + len(new) == len(latest_rows(ledger.log))
        assert verdict.accepted == len(verdict.changes) + verdict.unchanged
        bad = [r for r in verdict.rejected if r.target_id or r.reason != INCOMPLETE]
        assessed |= {change.target for change in verdict.changes}
        assert verdict.outstanding == [target for target in EXPOSED if target not in assessed]
        declared = call.coverage == session_pb2.COVERAGE_DECLARATION_COMPLETE
        covered = covered or (declared and not bad and not verdict.outstanding)
        assert verdict.covered == covered
        assert outstanding(retrieval(EXPOSED), ledger.log) == verdict.outstanding


@given(st.lists(items(), max_size=6))
def test_a_call_sent_again_changes_no_number(calls: list[session_pb2.FeedbackItem]) -> None:
    ledger = Ledger()
    for call in calls:
        ledger.take(call)
        log = ledger.log
        verdict = ledger.take(call)
        assert verdict.changes == []
        assert list(ledger.log.rows) == list(log.rows)


def test_judging_leaves_the_log_it_was_given_alone() -> None:
    log = store_pb2.FeedbackLog()
    judge(retrieval(EXPOSED), log, item(*ALL, complete=True), at(1), nothing)
    assert log == store_pb2.FeedbackLog()
