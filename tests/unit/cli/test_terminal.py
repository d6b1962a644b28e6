"""T33: terminals that are not UTF-8, and memories that would steer one."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console

from remembrancer.cli.memories import look
from remembrancer.cli.output import print_json
from remembrancer.cli.terminal import harmless
from remembrancer.v1 import listing_pb2, record_pb2

STEERING = "a\x1b[2Jb\x1b]0;title\x07c\x9b2Jd\x7fe\rf"


@pytest.mark.parametrize("code", ["print('✓ 日本')", "print_json({'a': '✓ 日本'})"])
def test_t33_what_is_written_into_a_file_is_utf8_whatever_the_locale(code: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from remembrancer.cli.output import print_json\n"
            f"from remembrancer.cli.terminal import prepare_output\nprepare_output()\n{code}",
        ],
        env={"PYTHONIOENCODING": "iso-8859-1"},
        capture_output=True,
        check=True,
    )
    assert "✓ 日本" in done.stdout.decode("utf-8")


def test_t33_json_on_a_terminal_of_another_encoding_stays_json(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="iso-8859-1", errors="replace"))
    print_json({"a": "✓ 😀 é"})
    sys.stdout.flush()
    assert json.loads(raw.getvalue().decode("iso-8859-1")) == {"a": "✓ 😀 é"}


class Service:
    """A service with one memory."""

    def list_memories(self, **_: Any) -> listing_pb2.ListMemoriesResponse:
        memory = record_pb2.MemoryRecord(memory_id="evt_1", content=STEERING, name="\x1b[31mMallory")
        return listing_pb2.ListMemoriesResponse(memories=[memory])


def test_t33_control_sequences_are_shown_harmless_in_tables_and_unchanged_in_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, "Console", lambda: Console(width=200))
    look.recent(Service(), "a:b", 1, {}, hidden=False, as_json=False)  # type: ignore[arg-type]
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x07\x9b\x7f\r")
    assert r"a\x1b[2Jb\x1b]0;title\x07c\x9b2Jd\x7fe\x0df" in shown
    assert r"\x1b[31mMallory" in shown
    look.recent(Service(), "a:b", 1, {}, hidden=False, as_json=True)  # type: ignore[arg-type]
    assert json.loads(capsys.readouterr().out)["content"] == STEERING


def test_text_without_control_characters_stays_as_it_is() -> None:
    assert harmless("Grüße\n\t日本 👩‍👩‍👧") == "Grüße\n\t日本 👩‍👩‍👧"
