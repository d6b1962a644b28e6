"""The state file: what runs in a data folder, for `status`, `down` and a second `up`."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.identity import ProcessIdentity


class Phase(StrEnum):
    """Where a supervised service stands."""

    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


class AlreadyRunning(Exception):
    """Another supervisor holds the data folder."""


@dataclass(frozen=True, slots=True)
class RoleState:
    """One process: who it is (None while it does not run), where it serves, how ready it was when last asked."""

    identity: ProcessIdentity | None
    address: str
    probe: str
    ready: bool
    starts: int


@dataclass(frozen=True, slots=True)
class State:
    """What a supervisor wrote about itself. `failure` and `log_tail` tell why a start failed."""

    phase: Phase
    supervisor: ProcessIdentity
    gateway: str
    roles: Mapping[str, RoleState] = field(default_factory=dict)
    failure: str = ""
    log_tail: str = ""

    def alive(self) -> bool:
        """Say whether the supervisor that wrote this is still at work."""
        return self.phase not in (Phase.STOPPED, Phase.FAILED) and self.supervisor.alive()


def write_state(folder: DataFolder, state: State) -> None:
    """Replace the state file. Store URLs hold a password: the file is private."""
    value = {
        "folder": folder.mark,
        "phase": state.phase,
        "supervisor": state.supervisor.to_json(),
        "gateway": state.gateway,
        "failure": state.failure,
        "log_tail": state.log_tail,
        "roles": {
            name: {
                "identity": role.identity.to_json() if role.identity else None,
                "address": role.address,
                "probe": role.probe,
                "ready": role.ready,
                "starts": role.starts,
            }
            for name, role in state.roles.items()
        },
    }
    folder.private_file(folder.state, json.dumps(value, indent=1))


def read_state(folder: DataFolder) -> State | None:
    """Return what the last supervisor wrote; None when there is nothing, or nothing that makes sense.

    In a copy of a data folder the note is about the processes of the original: here nothing runs.
    """
    try:
        value = json.loads(folder.state.read_text())
        copied = value["folder"] != folder.mark
        supervisor = ProcessIdentity.from_json(value["supervisor"])
        if supervisor is None:
            return None
        return State(
            phase=Phase.STOPPED if copied else Phase(value["phase"]),
            supervisor=supervisor,
            gateway=str(value["gateway"]),
            roles={} if copied else {name: _role(role) for name, role in value["roles"].items()},
            failure=str(value["failure"]),
            log_tail=str(value["log_tail"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _role(value: dict[str, Any]) -> RoleState:
    return RoleState(
        identity=ProcessIdentity.from_json(value["identity"]),
        address=str(value["address"]),
        probe=str(value["probe"]),
        ready=bool(value["ready"]),
        starts=int(value["starts"]),
    )


@contextmanager
def exclusive(folder: DataFolder) -> Iterator[None]:
    """Hold the data folder; the kernel lets go of it when the holder ends. Raise AlreadyRunning when another has it.

    The lock file says who holds it, for when the state file does not.
    """
    handle = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunning(str(folder.root)) from error
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps({"folder": folder.mark, **ProcessIdentity.mine().to_json()}).encode())
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def unnoted_supervisor(folder: DataFolder) -> ProcessIdentity | None:
    """Return the process that holds the data folder while no state file of its own can be read; None otherwise."""
    try:
        value = json.loads(folder.lock.read_text())
        holder = ProcessIdentity.from_json(value)
        if holder is None or value.get("folder") != folder.mark:
            return None
    except (OSError, ValueError):
        return None
    if not holder.alive():
        return None
    state = read_state(folder)
    return holder if state is None or state.supervisor.pid != holder.pid else None
