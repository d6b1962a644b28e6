"""How the processes of the service are started."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import remembrancer


def apps_root() -> Path:
    """Return the folder that holds `services` and `workers`: inside an installed package, else the repository."""
    package = Path(remembrancer.__file__).parent
    installed = package / "_apps"
    return installed if installed.is_dir() else package.parent


def module_command(module: str) -> list[str]:
    """Return the command that runs a module; the working folder does not shadow it (`-P`)."""
    return [sys.executable, "-P", "-m", module]


def module_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with `extra` and with the processes' modules on the path."""
    path = os.pathsep.join(filter(None, (str(apps_root()), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": path, **extra}
