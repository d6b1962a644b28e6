"""The operating-context file, read again when it changes."""

from __future__ import annotations

import os
from pathlib import Path

from services.gateway.shared.operating_context import OperatingContext


def test_without_a_file_there_are_no_projects(tmp_path: Path) -> None:
    assert OperatingContext(None).projects is None
    assert OperatingContext(tmp_path / "missing.json").projects is None
    assert OperatingContext(tmp_path).projects is None


def test_the_name_says_which_format_it_is(tmp_path: Path) -> None:
    for name, text in (
        ("a.toml", 'anna = "x"'),
        ("a.TOML", 'anna = "x"'),
        ("a.json", '{"anna": "x"}'),
        ("a", '{"anna": "x"}'),
    ):
        (tmp_path / name).write_text(text)
        assert OperatingContext(tmp_path / name).projects == {"anna": "x"}
    (tmp_path / "b.json").write_text('anna = "x"')
    assert OperatingContext(tmp_path / "b.json").projects is None


def test_a_change_is_seen_whether_written_in_place_or_put_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "projects.json"
    path.write_text('{"anna": "x"}')
    context = OperatingContext(path)
    assert context.projects == {"anna": "x"}
    path.write_text('{"anna": "longer"}')
    assert context.projects == {"anna": "longer"}
    before = path.stat()
    other = tmp_path / "next.json"
    other.write_text('{"anna": "equals"}')
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    assert context.projects == {"anna": "equals"}
    path.write_bytes(b"\xff\xfe")
    assert context.projects is None
    path.unlink()
    assert context.projects is None
