"""The encoder of the next model, beside the service on this machine."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from remembrancer.cli.local.apps import module_command, module_environment
from remembrancer.cli.local.child import spawn, tail
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.plan import MODULES, Command, Role
from remembrancer.cli.local.ports import LOOPBACK, free_ports
from remembrancer.cli.local.readiness import is_ready
from remembrancer.reindex.embedding import ReindexRefused

READY_SECONDS: Final = 300.0
"""A model that is not in the cache is built first."""

POLL_SECONDS: Final = 0.05


@contextlib.contextmanager
def next_encoder(folder: DataFolder, store_url: str, model: str) -> Iterator[str]:
    """Yield the address of an encoder of `model`, a known name or a folder; it ends with this process.

    Raises ReindexRefused, with the last line it wrote, when it does not come up.
    """
    address, ops = (f"{LOOPBACK}:{port}" for port in free_ports(2))
    own = {
        "STORE_URL": store_url,
        "WORKER_TOKEN": folder.secret("worker-token"),
        "LISTEN": address,
        "OPS_LISTEN": ops,
        "MODEL": model,
        "NEXT": "true",
        # The encoder that serves is to have its share.
        "THREADS": os.environ.get("REMEMBRANCER_THREADS") or str(max(1, (os.cpu_count() or 1) // 2)),
    }
    settings = {f"REMEMBRANCER_{name}": value for name, value in own.items()}
    environment = module_environment({**folder.cache_environment(), **settings})
    log = folder.log("encoder-next")
    process = spawn(Command(module_command(MODULES[Role.ENCODER]), environment), log)
    try:
        deadline = time.monotonic() + READY_SECONDS
        while not is_ready(ops):
            if process.poll() is not None:
                raise ReindexRefused(f"the next encoder does not start: {tail(log, 1)}")
            if time.monotonic() > deadline:
                raise ReindexRefused(f"the next encoder is not ready after {READY_SECONDS:g} s; see {log}")
            time.sleep(POLL_SECONDS)
        yield address
    finally:
        process.terminate()
        process.wait()


def named(model: str) -> str:
    """Return a model as it is understood from any working folder."""
    return str(Path(model).resolve()) if Path(model).is_dir() else model
