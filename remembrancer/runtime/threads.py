"""How many threads this process may use, and telling the numeric libraries so before they are imported."""

from __future__ import annotations

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Read once by OpenMP, OpenBLAS and MKL when numpy, FAISS or onnxruntime are loaded."""


def available(cgroup: Path = CGROUP) -> int:
    """Return the CPUs this process may use: its affinity, bounded by the container's CPU quota rounded down; >= 1.

    Rounding down keeps busy threads from being throttled by the scheduler in the middle of a call.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = quota(cgroup)
    return max(1, allowed if limit is None else min(allowed, int(limit)))


def quota(cgroup: Path = CGROUP) -> float | None:
    """Return the CPU quota in CPUs from cgroup v2 (`cpu.max`) or v1 (`cpu/cpu.cfs_*_us`), None without a limit."""
    for read in (_v2, _v1):
        try:
            limit, period = read(cgroup)
        except (OSError, ValueError):
            continue
        return limit / period if limit > 0 and period > 0 else None
    return None


def limit_threads(n: int = 0) -> int:
    """Bound the numeric libraries to `n` threads (0 = `available()`) and return that number.

    Call it before numpy is imported. Variables the operator has set himself are left alone.
    """
    count = n or available()
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, str(count))
    return count


def _v2(cgroup: Path) -> tuple[int, int]:
    limit, period = (cgroup / "cpu.max").read_text().split()
    return (-1 if limit == "max" else int(limit)), int(period)


def _v1(cgroup: Path) -> tuple[int, int]:
    cpu = cgroup / "cpu"
    return int((cpu / "cpu.cfs_quota_us").read_text()), int((cpu / "cpu.cfs_period_us").read_text())
