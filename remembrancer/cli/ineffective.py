"""Settings of the environment that do not hold in the service that runs, each in a line."""

from __future__ import annotations

import asyncio
import os

import psutil
from pydantic import SecretStr

from remembrancer.cli.hints import typed
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.plan import MADE, Role
from remembrancer.cli.local.settings_check import variables
from remembrancer.cli.local.state import State
from remembrancer.cli.reindex.next_encoder import named
from remembrancer.cli.reindex.serving import model_names, served_model

MODEL = "REMEMBRANCER_MODEL"


def overridden() -> list[str]:
    """Return a line for each variable that `up` sets itself, whatever is set here."""
    return [f"{name} is not used: `up` sets it itself" for name in sorted(MADE & os.environ.keys())]


def changed(folder: DataFolder, state: State) -> list[str]:
    """Return a line when settings here differ from those that a running service was started with."""
    try:
        then = psutil.Process(state.supervisor.pid).environ()
    except psutil.Error:
        return []
    names = [name for name in sorted(variables() - MADE) if then.get(name) != os.environ.get(name)]
    if not names:
        return []
    return [
        f"The running service uses other values of {', '.join(names)}. To apply yours: {typed('down', folder)}, "
        f"then {typed('up', folder)}"
    ]


def other_model(folder: DataFolder, state: State) -> list[str]:
    """Return a line when another model serves than the one that is set here."""
    names, wanted = model_names(folder), os.environ.get(MODEL)
    if not names or not wanted:
        return []
    token = SecretStr(folder.secret("worker-token"))
    served = names.get(asyncio.run(served_model(state.roles[Role.ENCODER].address, token)))
    if served is None or served == named(wanted):
        return []
    return [
        f"The model {served} serves, as since the last reindexing, not {MODEL}={wanted}. "
        f"To change it: {typed('reindex', folder)} --model {wanted}"
    ]
