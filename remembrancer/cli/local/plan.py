"""What to start: the five processes, their addresses, and the environment of each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from remembrancer.cli.local.apps import module_command, module_environment
from remembrancer.cli.local.folder import DataFolder
from remembrancer.cli.local.ports import LOOPBACK, free_ports
from remembrancer.cli.local.store import store_command, store_url


class Role(StrEnum):
    """A process of the service."""

    STORE = "store"
    ENCODER = "encoder"
    ACTIVE = "active"
    DEEP = "deep"
    GATEWAY = "gateway"


MODULES: Mapping[Role, str] = {
    Role.ENCODER: "workers.encoder",
    Role.ACTIVE: "workers.active",
    Role.DEEP: "workers.deep",
    Role.GATEWAY: "services.gateway",
}

MADE = frozenset(
    f"REMEMBRANCER_{name}"
    for name in (
        "STORE_URL",
        "WORKER_TOKEN",
        "LISTEN",
        "OPS_LISTEN",
        "MODELS_FILE",
        *(f"{role.upper()}_TARGETS" for role in MODULES if role != Role.GATEWAY),
    )
)
"""Variables that a plan sets, whatever the environment says."""

CHECK_MODULE = "remembrancer.cli.local.settings_check"
BUILD_MODULE = "workers.encoder.build"


@dataclass(frozen=True, slots=True)
class Command:
    """A command and its environment."""

    arguments: list[str]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Process:
    """One process to run.

    `address` is where it serves; `probe` says whether it is ready: a Redis URL, or the address of a health service.
    """

    role: Role
    command: Command
    address: str
    probe: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All processes, and what has to run to its end before them: the check of their settings, then the model build."""

    check: Command
    prepare: Command
    processes: Mapping[Role, Process]

    @property
    def gateway(self) -> str:
        """Address of the public API."""
        return self.processes[Role.GATEWAY].address

    @property
    def store_url(self) -> str:
        """URL of the store, password included."""
        return self.processes[Role.STORE].probe


def make_plan(folder: DataFolder, gateway_port: int = 0, extra: Mapping[str, str] | None = None) -> Plan:
    """Plan the service on loopback with free ports.

    `gateway_port` 0 stands for a free one. `extra` overrides the environment, which every process inherits.
    """
    store_port, *ports = free_ports(9)
    addresses = [f"{LOOPBACK}:{port}" for port in ports]
    listen = dict(zip(MODULES, addresses[:4], strict=True))
    ops = dict(zip(MODULES, addresses[4:], strict=True))
    if gateway_port:
        listen[Role.GATEWAY] = f"{LOOPBACK}:{gateway_port}"
    inherited = {**folder.cache_environment(), **(extra or {})}
    shared = {
        "REMEMBRANCER_STORE_URL": store_url(folder, store_port),
        "REMEMBRANCER_WORKER_TOKEN": folder.secret("worker-token"),
    }
    model = {"REMEMBRANCER_MODELS_FILE": str(folder.models)}
    targets = {f"REMEMBRANCER_{role.upper()}_TARGETS": listen[role] for role in MODULES if role != Role.GATEWAY}
    own = {Role.ENCODER: model, Role.GATEWAY: targets}
    store = Process(
        Role.STORE,
        Command(store_command(folder, store_port), {"PATH": os.environ.get("PATH", "")}),
        f"{LOOPBACK}:{store_port}",
        shared["REMEMBRANCER_STORE_URL"],
    )
    servers = {
        role: Process(
            role,
            Command(
                module_command(module),
                module_environment(
                    {
                        **inherited,
                        **shared,
                        **own.get(role, {}),
                        "REMEMBRANCER_LISTEN": listen[role],
                        "REMEMBRANCER_OPS_LISTEN": ops[role],
                    }
                ),
            ),
            listen[role],
            ops[role],
        )
        for role, module in MODULES.items()
    }
    any_listen = {"REMEMBRANCER_LISTEN": addresses[0], "REMEMBRANCER_OPS_LISTEN": addresses[0]}
    before = module_environment({**inherited, **shared, **model, **targets, **any_listen})
    check, prepare = (Command(module_command(module), before) for module in (CHECK_MODULE, BUILD_MODULE))
    return Plan(check, prepare, {Role.STORE: store, **servers})
