"""The operator's file of default projects, read again whenever it changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import structlog

from remembrancer.model.auto_project import NotUnderstood, parse_projects

MISSING: Final = (0, 0, 0)
"""What is seen of a file that is not there."""


class OperatingContext:
    """Agents and their default projects. Looking costs one `stat` while nothing changes."""

    def __init__(self, path: Path | None) -> None:
        """Take the file: TOML when its name ends in `.toml`, else JSON. None = there is none."""
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._projects: Mapping[str, str] | None = None
        self._log = structlog.get_logger()

    def check(self) -> None:
        """Look at the file, so that the log says at once what is wrong with it."""
        self._look()

    @property
    def projects(self) -> Mapping[str, str] | None:
        """Agent -> project as the file has it now; None without a file, or with one that is not understood."""
        return self._look()

    def _look(self) -> Mapping[str, str] | None:
        if self._path is None:
            return None
        try:
            found = self._path.stat()
        except OSError as error:
            if self._seen != MISSING:
                self._log.warning("there is no operating context", error=type(error).__name__)
            self._seen, self._projects = MISSING, None
            return None
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen != self._seen:
            self._seen, self._projects = seen, self._read(self._path)
        return self._projects

    def _read(self, path: Path) -> Mapping[str, str] | None:
        try:
            projects = parse_projects(path.read_text("utf-8"), toml=path.suffix.lower() == ".toml")
        except (OSError, UnicodeDecodeError, NotUnderstood) as error:
            self._log.warning("the operating context is ignored", error=str(error))
            return None
        self._log.info("read the operating context", agents=len(projects))
        return projects
