"""The data folder: the store's files, secrets, logs, and the note of what runs."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remembrancer.runtime.variables import PREFIX

DATA: Final = f"{PREFIX}DATA"
"""The variable that names the data folder where no option does."""


class NoFolder(OSError):
    """A folder in the home folder of a user who has none; the message is one line for the operator."""


def default_data_folder() -> Path:
    """Return `$REMEMBRANCER_DATA`, else `$XDG_DATA_HOME/remembrancer`, by default `~/.local/share/remembrancer`.

    `~` is left in it where the user has no home folder: `DataFolder` refuses that.
    """
    if named := os.environ.get(DATA):
        return Path(named)
    base = os.environ.get("XDG_DATA_HOME", "")
    # As the XDG specification has it, a relative one is ignored.
    folder = (Path(base) if base.startswith("/") else Path("~/.local/share")) / "remembrancer"
    try:
        return folder.expanduser()
    except RuntimeError:
        return folder


@dataclass(frozen=True, slots=True)
class DataFolder:
    """One data folder; readable by its owner only."""

    root: Path

    @classmethod
    def named(cls, root: Path) -> DataFolder:
        """Return the folder as it is, there or not. Errors: NoFolder when there is no such home folder."""
        try:
            return cls(root.expanduser().resolve())
        except RuntimeError:
            raise NoFolder(f"{root}: there is no home folder; name a data folder with --data or {DATA}") from None

    @classmethod
    def at(cls, root: Path) -> DataFolder:
        """Return the folder, made where it is missing."""
        folder = cls.named(root)
        for path in (folder.root, folder.store, folder.logs, folder.run, folder._secrets):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @property
    def mark(self) -> str:
        """What tells the folder from a copy of it. Errors: OSError where there is no folder."""
        about = self.root.stat()
        return f"{about.st_dev}:{about.st_ino}"

    @property
    def store(self) -> Path:
        """The store's append-only file."""
        return self.root / "store"

    @property
    def logs(self) -> Path:
        """One log per process."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """What is true only while something runs."""
        return self.root / "run"

    @property
    def models(self) -> Path:
        """From model ids to the names or folders of encoders: there once a reindexing began."""
        return self.root / "models.json"

    @property
    def state(self) -> Path:
        """The note of what runs."""
        return self.run / "state.json"

    @property
    def lock(self) -> Path:
        """Held by the supervisor while it lives."""
        return self.run / "lock"

    @property
    def _secrets(self) -> Path:
        return self.root / "secrets"

    def cache_environment(self) -> dict[str, str]:
        """Return what has built models kept below the data folder when the user has no home folder."""
        try:
            Path.home()
        except RuntimeError:
            named = os.environ.get("XDG_CACHE_HOME", "").startswith("/")
            return {} if named else {"XDG_CACHE_HOME": str(self.root / "cache")}
        return {}

    def log(self, name: str) -> Path:
        """Return the log of one process."""
        return self.logs / f"{name}.log"

    def secret(self, name: str) -> str:
        """Return a secret of this folder, made at first use: 256 bits, in a file that only its owner can read."""
        path = self._secrets / name
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path.read_text().strip()
        with os.fdopen(handle, "w") as file:
            file.write(value := secrets.token_urlsafe(32))
        return value

    def private_file(self, path: Path, text: str) -> Path:
        """Write a file that only its owner can read; readers see the old or the new text, never half of one.

        Raise OSError when there is no room, or no folder.
        """
        draft = path.with_name(f"{path.name}.new")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        draft.replace(path)
        return path
