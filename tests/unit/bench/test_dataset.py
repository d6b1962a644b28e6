"""What the benchmark reads, and how it complains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.dataset import DatasetError, load


def conversation(**changes: Any) -> dict[str, Any]:
    turns = [
        {"id": f"D{session}:{number}", "session": session, "speaker": "A", "text": "hi", "time": "2024-01-01"}
        for session in (1, 2)
        for number in range(150)
    ]
    questions = [{"id": "q", "text": "?", "category": "c", "relevant": ["D1:1", "gone"], "answer": ""}]
    return {"id": "x", "turns": turns, "questions": questions, **changes}


def write(folder: Path, value: Any) -> Path:
    (folder / "00.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def test_batches_are_at_most_a_hundred_and_of_one_session(tmp_path: Path) -> None:
    (loaded,) = load(write(tmp_path, conversation()))
    batches = list(loaded.batches())
    assert [len(batch) for batch in batches] == [100, 50, 100, 50]
    assert all(len({turn.session for turn in batch}) == 1 for batch in batches)
    assert [turn.id for batch in batches for turn in batch] == [turn.id for turn in loaded.turns]


def test_dangling_ids_stay_relevant(tmp_path: Path) -> None:
    (loaded,) = load(write(tmp_path, conversation()))
    assert loaded.questions[0].relevant == {"D1:1", "gone"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is not a conversation"),
        ("[]", "is not a conversation"),
        ({"id": "x", "turns": [{}], "questions": []}, "KeyError: 'id'"),
        (conversation(questions=[]), "no turns or no questions"),
        (
            conversation(questions=[{"id": "q7", "text": "?", "category": "c", "relevant": []}]),
            "question q7 has no relevant turns",
        ),
    ],
)
def test_an_odd_file_is_named(tmp_path: Path, content: Any, complaint: str) -> None:
    with pytest.raises(DatasetError, match=complaint) as caught:
        load(write(tmp_path, content))
    assert "00.json" in str(caught.value)


def test_an_odd_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no \.json files"):
        load(tmp_path)
    with pytest.raises(DatasetError, match="is not a folder"):
        load(tmp_path / "missing")
