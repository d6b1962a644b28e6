"""`remembrancer ingest|recall|recent|forget|export|import` as they are typed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from remembrancer.cli.local.service import LocalService
from remembrancer.cli.main import build_app
from remembrancer.cli.memories.transfer import export_scope
from remembrancer.client import Client
from remembrancer.v1 import transfer_pb2
from tests.valkey import until

Run = Callable[..., Result]


@pytest.fixture
def run(service: LocalService) -> Run:
    """Return a function that runs a command against the service under test."""
    app, runner = build_app(), CliRunner()

    def command(*arguments: str, text: str | None = None) -> Result:
        return runner.invoke(app, list(arguments), input=text, env={"REMEMBRANCER_TARGET": service.address})

    return command


def documents(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.rstrip("\n").split("\n") if line]


@pytest.fixture
def filled(run: Run, scope: str, tmp_path: Path) -> str:
    lines = tmp_path / "lines.txt"
    lines.write_text('The ferry leaves at seven.\n\n{"content": "Buy tickets.", "type": "task"}\n')
    (stored,) = documents(run("ingest", scope, str(lines), "--json"))
    assert stored == {"created": 2, "matched": 0, "unembedded": 0, "persisted": True, "warnings": []}
    return scope


def test_ingest_tells_new_from_known_and_takes_turns(run: Run, filled: str) -> None:
    (again,) = documents(run("ingest", filled, "--json", text="the ferry  leaves at SEVEN.\n"))
    assert (again["created"], again["matched"]) == (0, 1)
    spoken = '{"content": "Aboard!", "name": "Ida", "role": "user", "timestamp": "2024-03-10", "msg_id": "1"}\n'
    assert run("ingest", filled, "--turns", text=spoken).stdout.strip() == "1 stored, 0 known already"
    newest, *_ = documents(run("recent", filled, "--json"))
    assert (newest["memory_id"], newest["name"], newest["content"]) == ("evt_3", "Ida", "Aboard!")
    for wrong, options in (
        ('{"text": "no content"}', []),
        ('{"content": "a statement", "role": "user"}', []),
        ('{"content": "a turn", "type": "fact"}', ["--turns"]),
    ):
        refused = run("ingest", filled, *options, text=f"Aye.\n{wrong}\n")
        assert refused.exit_code == 2
        assert "line 2" in refused.stderr


def test_t23_the_same_file_again_stores_nothing(run: Run, scope: str) -> None:
    spoken = [
        {"content": "Aye."}, {"content": "Aye."}, {"content": "Aye.", "timestamp": "at noon"},
        {"content": "Aye.", "timestamp": "2024-03-10"}, {"content": "Aye.", "msg_id": "1"},
    ]  # fmt: skip
    said = "".join(f"{json.dumps(line)}\n" for line in spoken)
    for options, lines, many in (([], "The first.\nThe second.\n", 2), (["--turns"], f"{said}Nay.\n", 6)):
        assert run("ingest", scope, *options, text=lines).stdout == f"{many} stored, 0 known already\n"
        assert run("ingest", scope, *options, text=lines).stdout == f"0 stored, {many} known already\n"
        assert run("ingest", scope, *options, text=f"{lines}More.\n").stdout == f"1 stored, {many} known already\n"


@pytest.mark.long
def test_t23_an_interrupted_file_is_finished_by_the_same_command(
    service: LocalService, client: Client, run: Run, scope: str, tmp_path: Path
) -> None:
    file = tmp_path / "turns.txt"
    file.write_text("".join(f"Turn {n} of a long talk about the harbour.\n" for n in range(1000)))
    arguments = ("ingest", scope, str(file), "--turns")
    typed = [sys.executable, "-m", "remembrancer.cli", *arguments, "--target", service.address]
    with subprocess.Popen(typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: client.get_scope(scope=scope).last_number > 300, 60, "that a third is stored")
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    told = re.search(r"(\d+) of 1000 are stored, and perhaps up to 100 more; the same command again", error)
    assert told
    stored = client.get_scope(scope=scope).last_number
    assert int(told[1]) <= stored <= int(told[1]) + 100 < 1000
    assert run(*arguments).stdout == f"{1000 - stored} stored, {stored} known already\n"


def test_a_line_that_is_refused_is_named(run: Run, scope: str) -> None:
    long = json.dumps({"content": "x" * 16001})
    for wrong, options, said in (
        ("{broken", [], "begins like JSON and is none"),
        ('["a"]', [], "is a JSON list and no object; --text"),
        ('{"content": "a turn", "role": "user"}', [], "keys are content, type, occurred_at; for conversation turns"),
        ('{"content": 7}', [], "the value of 'content' must be text"),
        ('{"content": "a", "type": "facts"}', [], "'facts' is not one of: fact, "),
        ('{"content": "a", "occurred_at": "soon"}', [], "occurred_at 'soon' is not understood"),
        (long, [], "content: "),
        (long, ["--turns"], "content: "),
    ):
        refused = run("ingest", scope, *options, "-", text=f"\nAye.\n{wrong}\n")
        assert refused.exit_code == 2
        last = refused.stderr.splitlines()[-1]
        assert last.startswith("line 3: ")
        assert said in last
    assert documents(run("recent", scope, "--json")) == []
    many = [f"Note {n}." for n in range(150)]
    refused = run("ingest", scope, text="\n".join([*many, long]))
    assert refused.exit_code == 2
    last = refused.stderr.splitlines()[-1]
    assert last.startswith("line 151: content: ")
    assert last.endswith("100 before line 101 are stored, none from there on")
    assert len(documents(run("recent", scope, "--limit", "200", "--json"))) == 100


def test_what_looks_like_json_is_stored_as_text_when_asked_to(run: Run, scope: str) -> None:
    assert run("ingest", scope, text="[10:32] Ida: Aboard!\n").exit_code == 0
    assert run("ingest", scope, "--text", text='{broken\n["a"]\n').exit_code == 0
    texts = [found["content"] for found in documents(run("recent", scope, "--json"))]
    assert texts == ['["a"]', "{broken", "[10:32] Ida: Aboard!"]


def test_times_are_taken_and_those_not_understood_are_counted(run: Run, scope: str) -> None:
    run("ingest", scope, text='{"content": "The mast broke.", "occurred_at": "2024-03-10"}\n')
    (stored,) = documents(run("recent", scope, "--json"))
    assert stored["occurred_at"] == "2024-03-10T00:00:00Z"
    spoken = (
        '{"content": "Aye.", "timestamp": "at noon"}\n{"content": "No.", "timestamp": "2024-03-10"}\n{"content": "?"}\n'
    )
    assert "the times of 1 turns are not understood" in run("ingest", scope, "--turns", text=spoken).stderr
    (told,) = documents(run("ingest", scope, "--turns", "--json", text=spoken))
    assert told["times_not_understood"] == 1


def test_warnings_of_a_write_are_told_once(run: Run, scope: str) -> None:
    run("ingest", scope, text="The first.\n")
    unreadable = "".join(f"渡し船は{n}時に出ます。\n" for n in range(101))
    other = scope.upper()
    told = run("ingest", other, text=unreadable)
    assert told.exit_code == 0
    codes = [line.partition(":")[0] for line in told.stderr.splitlines() if line[:1].isupper()]
    assert sorted(codes) == ["SCOPE_FRAGMENTATION", "UNREADABLE_TEXT"]
    (told_again,) = documents(run("ingest", other, "--json", text="船です。\n"))
    assert [warning["code"] for warning in told_again["warnings"]] == ["UNREADABLE_TEXT"]


def test_a_line_ends_at_its_end_only(run: Run, scope: str) -> None:
    texts = ["A line\u2028separator and\x85more.", "The second."]
    lines = "\r\n".join(json.dumps({"content": text}, ensure_ascii=False) for text in texts)
    (stored,) = documents(run("ingest", scope, "--json", text=lines))
    assert stored["created"] == 2
    assert [found["content"] for found in documents(run("recent", scope, "--json"))][::-1] == texts


def test_what_cannot_be_sent_is_said_in_a_line(run: Run, scope: str, tmp_path: Path) -> None:
    latin, plain = tmp_path / "latin.txt", tmp_path / "plain.txt"
    latin.write_bytes("Fähre".encode("latin-1"))
    plain.write_text("Ferry")
    for arguments, line in (
        (("recall", scope, "q", "--target", "http://here:1"), "an address is host:port"),
        (("ingest", scope, str(plain), "--type", "facts", "--json"), "type: 'facts' is not one of: fact, "),
        (("ingest", scope, str(latin)), f"{latin} is no UTF-8: 'utf-8' codec can't decode"),
        (("ingest", scope, str(tmp_path / "none")), f"{tmp_path / 'none'} cannot be read: No such file"),
    ):
        refused = run(*arguments)
        assert refused.exit_code == 2
        assert line in refused.stderr
        assert len(refused.stderr.splitlines()) == 1


def test_recall_and_recent_show_a_table_or_json(run: Run, filled: str, scope: str) -> None:
    (answer,) = documents(run("recall", filled, "when does the ferry leave?", "--json"))
    assert answer["hits"]["observations"][0]["content"] == "The ferry leaves at seven."
    shown = run("recall", filled, "when does the ferry leave?", "--mode", "deep")
    assert shown.exit_code == 0
    assert "The ferry leaves at seven." in shown.stdout
    assert "Buy tickets." in run("recent", filled, "--limit", "1").stdout
    org = f"org:{scope}"
    run("ingest", org, text="An organisation's fact.\n")
    (answer,) = documents(run("recall", org, "fact", "--json"))
    assert answer["retrieval_id"]


def test_nothing_found_is_said_and_so_is_a_scope_that_nobody_wrote_to(run: Run, filled: str, scope: str) -> None:
    unknown = f"nothing was ever written to {scope}-x"
    assert run("recall", f"{scope}-x", "ferry").stdout.strip() == unknown
    assert run("recent", f"{scope}-x").stdout.strip() == unknown
    assert run("recall", filled, "ferry", "--user", "nobody").stdout.strip() == "nothing found"
    assert run("recent", filled, "--user", "nobody").stdout.strip() == "no memories of user nobody"
    blank = run("recall", filled, " ")
    assert blank.exit_code == 1
    assert "query: must not be blank" in blank.stderr


def test_an_associated_memory_is_shown_with_its_path(run: Run, scope: str) -> None:
    spoken = [
        f"Ida adopted the greyhound Biscuit on day {n}." if n < 2 else f"Biscuit took pill {n}." for n in range(4)
    ]
    lines = "".join(json.dumps({"content": text, "msg_id": str(n)}) + "\n" for n, text in enumerate(spoken))
    run("ingest", scope, "--turns", "--conversation", "c", text=lines)
    asked = ("recall", scope, "which greyhound did Ida adopt?", "--mode", "deep", "--top-k", "2")
    (answer,) = documents(run(*asked, "--json"))
    paths = [step for hit in answer["hits"]["turns"] for step in hit.get("why", [])]
    assert paths
    shown = " ".join(run(*asked).stdout.split())
    assert shown.count("└ ") == len(paths)


def test_forget_asks_before_it_takes_everything(run: Run, filled: str) -> None:
    assert run("forget", filled, "sch_1").stdout.strip() == "1 erased"
    assert run("forget", filled, "--everything", text="n\n").exit_code == 1
    assert len(documents(run("recent", filled, "--json"))) == 1
    assert documents(run("forget", filled, "--everything", "--yes", "--json")) == [{"forgotten": 1, "erasing": False}]
    assert documents(run("recent", filled, "--json")) == []
    assert run("forget", filled).exit_code == 2
    unknown = run("forget", filled, "sch_1")
    assert unknown.exit_code == 1
    assert "MEMORY_NOT_FOUND" in unknown.stderr


def test_export_and_import_through_a_file(run: Run, filled: str, tmp_path: Path) -> None:
    file, copy = tmp_path / "scope.jsonl", f"{filled}-copy"
    assert documents(run("export", filled, str(file), "--json")) == [{"records": 2}]
    assert run("export", filled, str(file)).exit_code == 2  # It does not write over anything.
    nowhere = run("export", filled, str(tmp_path / "nothing" / "scope.jsonl"))
    assert (nowhere.exit_code, len(nowhere.stderr.splitlines())) == (2, 1)
    assert run("import", copy, str(file)).stdout.strip() == "2 records imported"
    assert "complete before, with 2 records" in run("import", copy, str(file)).stdout
    (told,) = documents(run("import", copy, str(file), "--json"))
    assert (told["imported"], told["complete_before"]) == ("2", True)
    again = run("export", copy)
    assert again.exit_code == 0
    first, second = (text.splitlines()[1] for text in (file.read_text(), again.stdout))
    assert json.loads(first) == json.loads(second)
    refused = run("import", filled, str(file))
    assert refused.exit_code == 1
    assert "SCOPE_NOT_EMPTY" in refused.stderr


def test_nothing_of_a_damaged_file_is_imported(run: Run, filled: str, scope: str, tmp_path: Path) -> None:
    file, copy = tmp_path / "scope.jsonl", f"{scope}-copy"
    run("export", filled, str(file))
    whole = file.read_text()
    for damage in ("{\n", '{"batch": {"records": 7}}\n', "\n"):
        file.write_text(whole + damage)
        refused = run("import", copy, str(file))
        assert refused.exit_code == 2
        assert refused.stderr == f"line {len(whole.splitlines()) + 1} is not a part of an export\n"
    file.write_text(whole)
    assert run("import", copy, str(file)).stdout.strip() == "2 records imported"


def test_a_file_that_is_not_whole_is_refused_unless_it_is_wanted(run: Run, filled: str, tmp_path: Path) -> None:
    file, copy = tmp_path / "scope.jsonl", f"{filled}-copy"
    run("export", filled, str(file))
    header, batch = file.read_text().splitlines(keepends=True)
    fewer = json.loads(batch)
    del fewer["batch"]["records"][0]
    for cut, said in (
        (header, "0 of 2 records, up to number 0 of 2"),
        (f"{header}{json.dumps(fewer)}\n", "1 of 2 records"),
        (batch, "is not an export"),
        ("", "is not an export"),
    ):
        file.write_text(cut)
        refused = run("import", copy, str(file))
        assert refused.exit_code == 2
        assert said in refused.stderr
    file.write_text(header + batch)
    assert run("import", copy, str(file)).stdout.strip() == "2 records imported"
    file.write_text(f"{header}{json.dumps(fewer)}\n")
    assert run("import", f"{copy}-2", str(file), "--incomplete").stdout.strip() == "1 records imported"


def test_t35_two_exports_in_one_file_are_refused_before_anything_is_claimed(
    run: Run, filled: str, tmp_path: Path
) -> None:
    file, copy = tmp_path / "scope.jsonl", f"{filled}-copy"
    run("export", filled, str(file))
    once = file.read_text()
    for spoilt, said in (
        (once + once, "line 3 of"),
        (once.replace('"Buy tickets."', '" "'), "batch.records[1].memory.content"),
    ):
        assert spoilt != once
        file.write_text(spoilt)
        refused = run("import", copy, str(file))
        assert (refused.exit_code, said in refused.stderr) == (2, True), refused.stderr
    file.write_text(once)
    assert run("import", copy, str(file)).stdout.strip() == "2 records imported"


def test_t34_files_as_people_have_them_are_read_or_refused_with_the_reason(
    run: Run, filled: str, tmp_path: Path
) -> None:
    file = tmp_path / "scope.jsonl"
    run("export", filled, str(file))
    text = file.read_text()
    crlf = text.replace("\n", "\r\n")
    for number, raw in enumerate((text.encode("utf-8-sig"), crlf.encode(), crlf.encode("utf-8-sig"))):
        file.write_bytes(raw)
        assert run("import", f"{filled}-{number}", str(file)).stdout.strip() == "2 records imported"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    assert run("import", f"{filled}-pipe", str(pipe)).stdout.strip() == "2 records imported"
    writer.join()
    statement = '{"content": "Straße gesperrt.", "type": "task"}\r\n\r\n'
    lines = tmp_path / "lines.jsonl"
    lines.write_bytes(statement.encode("utf-8-sig"))
    assert run("ingest", f"{filled}-new", str(lines)).stdout.strip() == "1 stored, 0 known already"
    (kept,) = documents(run("recent", f"{filled}-new", "--json"))
    assert (kept["content"], kept["type"]) == ("Straße gesperrt.", "MEMORY_TYPE_TASK")
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        for command, content in (("ingest", statement), ("import", text)):
            file.write_bytes(content.encode(encoding))
            refused = run(command, f"{filled}-never", str(file))
            assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
            assert "UTF-" in refused.stderr
    file.write_bytes(text.encode() + b"\xff")
    assert run("import", f"{filled}-never", str(file)).stderr == "line 3 is not a part of an export\n"


def test_t23_an_export_that_fails_leaves_no_draft_behind(tmp_path: Path) -> None:
    def breaks_off() -> Iterator[transfer_pb2.ExportResponse]:
        yield transfer_pb2.ExportResponse(header=transfer_pb2.TransferHeader(format=1, last_number=2, records=2))
        raise OSError("the line is cut")

    client = SimpleNamespace(export_scope=lambda scope: breaks_off())
    with pytest.raises(OSError, match="the line is cut"):
        export_scope(client, "a:b", tmp_path / "scope.jsonl", as_json=True)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_scope_that_was_never_written_to_is_not_exported(run: Run, scope: str, tmp_path: Path) -> None:
    file = tmp_path / "nothing.jsonl"
    for target in ([], [str(file)]):
        refused = run("export", scope, *target)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert f"nothing was ever written to {scope}" in refused.stderr
    assert not list(tmp_path.iterdir())


def test_a_user_is_forgotten_whichever_agent_has_the_memories(run: Run, scope: str) -> None:
    for agent in ("default-agent", "other", "third"):
        run("ingest", scope, "--agent", agent, "--user", "bob", text=f"Bob told the {agent}.\n")
    assert run("forget", scope, "--user", "bob", "--agent", "third", "--yes").stdout.strip() == "1 erased"
    assert run("forget", scope, "--user", "bob", "--yes").stdout.strip() == "2 erased"
    assert documents(run("recent", scope, "--agent", "other", "--json")) == []


def test_what_was_hidden_is_brought_back(run: Run, filled: str) -> None:
    assert run("forget", filled, "sch_1", "--suppress").stdout.strip() == "1 hidden"
    assert [found["memory_id"] for found in documents(run("recent", filled, "--json"))] == ["sch_2"]
    assert "sch_1" in run("recent", filled, "--hidden").stdout
    assert documents(run("restore", filled, "sch_1", "--json")) == [{"restored": True}]
    assert "there all the time" in run("restore", filled, "sch_1").stdout
    assert len(documents(run("recent", filled, "--json"))) == 2


def test_forget_takes_one_target(run: Run, filled: str) -> None:
    for options, said in (
        ([], "Invalid value: name what to forget: a memory, a --user, or --everything"),
        (["--user", "bob", "--everything"], "name only one of: a memory, a --user, --everything"),
        (["--everything", "--agent", "x"], "goes without --agent"),
        (["--everything", "--suppress"], "goes without --agent"),
    ):
        refused = run("forget", filled, *options, "--yes")
        assert refused.exit_code == 2
        assert said in " ".join(refused.stderr.replace("│", " ").split())
    assert len(documents(run("recent", filled, "--json"))) == 2


def test_without_a_service_one_line_says_so(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REMEMBRANCER_TARGET", raising=False)
    nothing = tmp_path / "nothing"
    result = CliRunner().invoke(build_app(), ["recent", "a:b", "--data", str(nothing)])
    assert result.exit_code == 3
    assert not nothing.exists()
    (line,) = result.stderr.splitlines()
    assert f"the data folder {nothing} is not there" in line
    assert "--data" in line
    assert "--target" in line
    asked = CliRunner().invoke(build_app(), ["forget", "a:b", "--everything"], env={"REMEMBRANCER_DATA": str(nothing)})
    assert (asked.exit_code, str(nothing) in asked.stderr, "[y/N]" in asked.stderr) == (3, True, False)
