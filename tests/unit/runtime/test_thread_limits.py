import os
import subprocess
import sys
from pathlib import Path

import pytest

from remembrancer.runtime import threads

ROOT = Path(__file__).parents[3]


def v1(folder: Path, limit: str) -> None:
    (folder / "cpu").mkdir()
    (folder / "cpu/cpu.cfs_quota_us").write_text(limit)
    (folder / "cpu/cpu.cfs_period_us").write_text("100000")


def test_c18_quota_of_cgroup_v2(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert threads.quota(tmp_path) == 1.5
    assert threads.available(tmp_path) == 1


def test_c18_quota_of_cgroup_v1(tmp_path: Path) -> None:
    v1(tmp_path, "50000\n")
    assert threads.quota(tmp_path) == 0.5
    assert threads.available(tmp_path) == 1


def test_no_limit_means_the_affinity(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert threads.quota(tmp_path) is None
    assert threads.available(tmp_path) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("content", ["", "junk", "x y"])
def test_unreadable_quota_means_no_limit(tmp_path: Path, content: str) -> None:
    (tmp_path / "cpu.max").write_text(content)
    assert threads.quota(tmp_path) is None


def test_c18_limit_threads_sets_what_the_operator_did_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in threads.THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert threads.limit_threads(3) == 3
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
    assert os.environ["OMP_NUM_THREADS"] == "7"


PROCESSES = ("services.gateway", "workers.encoder", "workers.active", "workers.deep")

UNTIL_NUMERIC = f"""
import os, runpy, sys

def look(event, arguments):
    if event == "import" and arguments[0].partition(".")[0] in ("numpy", "faiss", "onnxruntime"):
        print(*(os.environ.get(name) for name in {threads.THREAD_VARIABLES}), flush=True)
        os._exit(0)

sys.addaudithook(look)
runpy.run_module(sys.argv[1], run_name="__main__")
"""
"""Runs a process until it imports the first numeric library, and prints what that reads."""


@pytest.mark.parametrize("process", PROCESSES)
def test_c18_a_process_limits_the_threads_before_it_imports_what_reads_the_limit(process: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in threads.THREAD_VARIABLES}
    run = subprocess.run(
        [sys.executable, "-c", UNTIL_NUMERIC, process],
        env={**kept, "REMEMBRANCER_THREADS": "3"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.stdout.split() == ["3"] * len(threads.THREAD_VARIABLES), run.stderr
