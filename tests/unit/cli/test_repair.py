"""T37: a damaged append-only file, told of and repaired with what is shipped."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
import typer
from rich.console import Console

from remembrancer.cli.local.child import spawn
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.plan import Command
from remembrancer.cli.local.ports import free_ports
from remembrancer.cli.local.readiness import is_ready
from remembrancer.cli.local.state import exclusive
from remembrancer.cli.local.store import store_command, store_url
from remembrancer.cli.local.supervisor import StartFailed, Supervisor
from remembrancer.cli.repair import repair
from tests.unit.cli.conftest import PlanMaker
from tests.valkey import until


def with_store(folder: DataFolder, use: Callable[[redis.Redis], object]) -> None:
    """Run the store of a folder, use it, and stop it."""
    (port,) = free_ports(1)
    process = spawn(Command(store_command(folder, port), {}), folder.log("store"))
    try:
        until(lambda: is_ready(store_url(folder, port)), 20, "that the store is ready")
        with redis.Redis.from_url(store_url(folder, port)) as client:
            use(client)
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def commands(folder: DataFolder) -> Path:
    """The file of commands of a store with ten keys."""
    with_store(folder, lambda store: [store.set(f"key:{number}", number) for number in range(10)])
    (file,) = (folder.store / "appendonlydir").glob("*.incr.aof")
    return file


def outcome(folder: DataFolder) -> tuple[int, str]:
    shown = io.StringIO()
    try:
        repair(Console(file=shown, width=30), folder.root)
    except typer.Exit as ended:
        return ended.exit_code, shown.getvalue()
    return 0, shown.getvalue()


def damage(file: Path, at: bytes) -> None:
    whole = file.read_bytes()
    place = whole.index(at)
    file.write_bytes(whole[: place - 4] + b"\0\0" + whole[place - 2 :])


def test_t37_a_damaged_file_is_cut_at_the_damage_and_a_copy_is_kept(
    commands: Path, folder: DataFolder, make_small_plan: PlanMaker
) -> None:
    assert outcome(folder) == (0, "The append-only file is whole: nothing was changed.\n")
    damage(commands, b"key:6")
    before = commands.read_bytes()

    with pytest.raises(StartFailed, match=r"its append-only file is damaged; to cut it off .* repair --data"):
        Supervisor(make_small_plan(), folder).start()
    with exclusive(folder):
        code, said = outcome(folder)
        assert code == 1
        assert "Stop it first: " in said
    code, said = outcome(folder)
    assert code == 0
    assert f"kept {commands.stat().st_size} bytes, cut off {len(before) - commands.stat().st_size} bytes" in said
    (copy,) = folder.root.glob("store-before-repair-*")
    assert str(copy) in said
    assert (copy / commands.relative_to(folder.store)).read_bytes() == before
    kept: list[int] = []
    with_store(folder, lambda store: kept.extend(store.exists(f"key:{number}") for number in range(10)))
    assert kept == [1] * 6 + [0] * 4


def test_t37_what_no_cut_repairs_is_left_as_it_is(commands: Path, folder: DataFolder) -> None:
    (snapshot,) = commands.parent.glob("*.base.rdb")
    whole = snapshot.read_bytes()
    snapshot.write_bytes(whole[:30] + b"\0\0\0\0" + whole[34:])
    code, said = outcome(folder)
    assert code == 1
    assert f"{snapshot} is damaged, which no cut repairs" in said
    snapshot.write_bytes(whole)

    manifest = commands.parent / "appendonly.aof.manifest"
    later = commands.with_name("appendonly.aof.2.incr.aof")
    later.write_bytes(commands.read_bytes())
    manifest.write_text(manifest.read_text() + f"file {later.name} seq 2 type i\n")
    damage(commands, b"key:6")
    code, said = outcome(folder)
    assert code == 1
    assert "a later file depends on it" in said
    assert not list(folder.root.glob("store-before-repair-*"))

    manifest.unlink()
    assert outcome(folder)[0] == 1
    assert outcome(DataFolder.named(folder.root / "nothing"))[0] == 2
