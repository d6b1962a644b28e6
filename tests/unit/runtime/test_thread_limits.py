import os
import subprocess
import sys
from pathlib import Path

import pytest

from remembrancer.runtime import threads


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


def test_importing_it_with_settings_and_logs_does_not_import_numpy() -> None:
    code = (
        "import sys, remembrancer.runtime.threads, remembrancer.runtime.settings, remembrancer.runtime.logs; "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
