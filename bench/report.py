"""The figures of a quality run: as JSON, and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from bench import metrics
from bench.calibration import calibration
from bench.conversation_run import Asked

DIGITS = 2


def figures(asked: Sequence[Asked], mode: str, encoder: str, turns: int, seconds: float) -> dict[str, Any]:
    """Return all figures: ranking x 100, of each measure the plain mean of the categories' means; calibration as is.

    Ranking counts the questions that were asked with their relevant turns in the store.
    """
    twice, asked = asked, [a for a in asked if a.answerable]
    ndcg = metrics.by_category((a.question.category, metrics.ndcg(a.ranked, a.question.relevant)) for a in asked)
    at_5, at_10 = (
        metrics.by_category((a.question.category, metrics.recall(a.ranked, a.question.relevant, depth)) for a in asked)
        for depth in (5, 10)
    )
    return {
        "mode": mode,
        "encoder": encoder,
        "ndcg_at_10": {
            "mean": _percent(metrics.macro(ndcg)),
            "by_category": {category: _percent(value) for category, value in ndcg.items()},
        },
        "recall_at_5": _percent(metrics.macro(at_5)),
        "recall_at_10": _percent(metrics.macro(at_10)),
        "calibration": calibration(twice),
        "questions": len(asked),
        "turns": turns,
        "seconds": round(seconds, 1),
    }


def table(result: dict[str, Any], asked: Sequence[Asked]) -> Table:
    """Return what the terminal shows."""
    counts = Counter(a.question.category for a in asked if a.answerable)
    shown = Table("category", "questions", "nDCG@10", title=Text(f"{result['mode']}, {result['encoder']}"))
    for category, value in result["ndcg_at_10"]["by_category"].items():
        shown.add_row(Text(category), str(counts[category]), f"{value:.2f}")
    shown.add_section()
    shown.add_row("mean of categories", str(result["questions"]), f"[bold]{result['ndcg_at_10']['mean']:.2f}")
    shown.caption = (
        f"Recall@5 {result['recall_at_5']:.2f}, Recall@10 {result['recall_at_10']:.2f}; "
        f"{result['turns']} turns, {result['seconds']} s\n{_calibration_line(result['calibration'])}"
    )
    return shown


def _calibration_line(found: dict[str, Any]) -> str:
    if found["brier"] is None:
        return "no probable answers"
    gain = 1 - found["brier"] / found["base_brier"] if found["base_brier"] else 0.0
    return (
        f"probable answers: ECE {found['ece']:.3f}, Brier {found['brier']:.3f} ({gain:.1%} below the base rate's), "
        f"choice right {found['choice_accuracy']:.1%}, none right {found['none_accuracy']:.1%}"
    )


def _percent(value: float) -> float:
    return round(100 * value, DIGITS)
