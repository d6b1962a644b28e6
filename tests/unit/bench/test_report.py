"""The figures that the benchmark writes."""

from __future__ import annotations

import dataclasses

from rich.console import Console

from bench.calibration import calibration
from bench.conversation_run import Asked, judged, rank
from bench.dataset import Question
from bench.report import figures, table
from remembrancer.v1 import recall_pb2


def asked(category: str, ranked: list[str], *relevant: str) -> Asked:
    return Asked(Question("q", "?", category, frozenset(relevant)), ranked)


def test_the_figures_have_the_agreed_shape() -> None:
    answered = [asked("a", ["1"], "1"), asked("a", ["2"], "1"), asked("b", ["x"] * 6 + ["1"], "1")]
    left_out = dataclasses.replace(answered[0], ranked=["2"], answerable=False, chosen="2", probability=0.2)
    result = figures([*answered, left_out], "deep", "model", 7, 1.234)
    assert result.pop("calibration") == calibration([*answered, left_out])
    assert result == {
        "mode": "deep",
        "encoder": "model",
        "ndcg_at_10": {"mean": 41.67, "by_category": {"a": 50.0, "b": 33.33}},
        "recall_at_5": 25.0,
        "recall_at_10": 75.0,
        "questions": 3,
        "turns": 7,
        "seconds": 1.2,
    }


def test_names_in_the_table_are_no_markup() -> None:
    found = [asked("[/category]", ["1"], "1")]
    console = Console(width=200)
    with console.capture() as shown:
        console.print(table(figures(found, "deep", "[/encoder]", 7, 1.2), found))
    assert "deep, [/encoder]" in shown.get()
    assert "[/category]" in shown.get()


def test_associated_turns_are_ranked_among_the_others() -> None:
    hits = recall_pb2.Hits(
        turns=[
            recall_pb2.Hit(memory_id="evt_10", msg_id="c", score=0.5),
            recall_pb2.Hit(memory_id="evt_9", msg_id="b", score=0.5),
            recall_pb2.Hit(memory_id="evt_1", msg_id="a", score=0.9, pathway=recall_pb2.PATHWAY_ASSOCIATED),
        ]
    )
    assert rank(recall_pb2.RecallResponse(hits=hits)) == ["a", "b", "c"]


def test_the_probable_answer_is_judged_by_the_senders_id() -> None:
    question = Question("q", "?", "c", frozenset({"a"}))
    answer = recall_pb2.RecallResponse(
        hits=recall_pb2.Hits(turns=[recall_pb2.Hit(memory_id="evt_1", msg_id="a", score=0.9)])
    )
    assert judged(question, answer, answerable=False) == Asked(question, ["a"], answerable=False)
    answer.probable_answer.id, answer.probable_answer.probability = "evt_1", 0.4
    assert judged(question, answer, answerable=True) == Asked(question, ["a"], chosen="a", probability=0.4)
