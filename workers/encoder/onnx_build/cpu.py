"""What this CPU can multiply without overflow."""

from __future__ import annotations

import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def needs_reduced_range(machine: str | None = None, cpuinfo: Path = CPUINFO) -> bool:
    """Return whether int8 weights must keep to 7 bits on this CPU.

    x86 without VNNI adds pairs of products of 8-bit numbers in 16 bits and saturates; ARM and VNNI do not. Where the
    CPU's abilities cannot be read, the safe answer is yes.
    """
    if (machine or platform.machine()).lower() not in ("x86_64", "amd64"):
        return False
    try:
        return not {"avx512_vnni", "avx_vnni"} & set(cpuinfo.read_text().split())
    except OSError:
        return True
