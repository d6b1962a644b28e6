"""The service over a cluster of three nodes: own gateway and workers, the encoder of the shared service."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from remembrancer.cli.local.plan import Plan, Process, Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client
from remembrancer.store.keys import CURRENT_MODEL, MODELS
from tests.gateway import Extra
from tests.service import open_store, wait_whole
from tests.valkey import Cluster


class ClusterSupervisor:
    """Kills and freezes the processes, as the shared service's supervisor does; the store stands for all its nodes."""

    def __init__(self, shared: LocalService, own: Mapping[Role, Extra], cluster: Cluster) -> None:
        self._shared, self._own, self._cluster = shared.supervisor, own, cluster

    def kill(self, role: Role) -> None:
        if role in self._own:
            self._own[role].kill()
        else:
            self._shared.kill(role)

    def start_role(self, role: Role) -> None:
        if role in self._own:
            self._own[role].start()
        else:
            self._shared.start_role(role)

    def wait_ready(self, role: Role, timeout: float) -> None:
        if role in self._own:
            self._own[role].wait_ready()
        else:
            self._shared.wait_ready(role, timeout)

    def suspend(self, role: Role) -> None:
        for process in self._cluster.nodes if role is Role.STORE else [self._own[role]]:
            process.suspend()

    def resume(self, role: Role) -> None:
        for process in self._cluster.nodes if role is Role.STORE else [self._own[role]]:
            process.resume()


class ClusterService:
    """What tests use of a service."""

    def __init__(self, shared: LocalService, cluster: Cluster) -> None:
        """Plan the processes; the cluster must run."""
        self.folder, self.cluster, self._shared = shared.folder, cluster, shared
        store = {"store_url": cluster.url, "store_cluster": "true"}
        active, deep = (Extra(shared, role, store) for role in (Role.ACTIVE, Role.DEEP))
        gateway = Extra(shared, Role.GATEWAY, {**store, "active_targets": active.address, "deep_targets": deep.address})
        self.processes = {Role.ACTIVE: active, Role.DEEP: deep, Role.GATEWAY: gateway}
        self.plan: Plan = dataclasses.replace(
            shared.plan,
            processes={
                **shared.plan.processes,
                Role.STORE: dataclasses.replace(shared.plan.processes[Role.STORE], probe=cluster.url),
                **{role: Process(role, p.command, p.address, p.ops) for role, p in self.processes.items()},
            },
        )
        self.supervisor = ClusterSupervisor(shared, self.processes, cluster)

    def agree_on_the_model(self) -> None:
        """Tell the cluster what the shared encoder agreed on with the shared store alone."""
        with open_store(self._shared.plan) as single, self.cluster.client() as client:
            client.hset(MODELS, mapping=single.hgetall(MODELS))
            client.set(CURRENT_MODEL, single.get(CURRENT_MODEL))

    @property
    def address(self) -> str:
        return self.processes[Role.GATEWAY].address


@contextmanager
def cluster_service(shared: LocalService, folder: Path, replicas: int = 0) -> Iterator[ClusterService]:
    """Run a cluster and the processes over it."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(folder, replicas=replicas))
        service = ClusterService(shared, cluster)
        service.agree_on_the_model()
        for process in service.processes.values():
            process.spawn()
            stack.callback(process.kill)
        for process in service.processes.values():
            process.wait_ready()
        with Client.connect(service.address) as client:
            wait_whole(client)
        yield service
