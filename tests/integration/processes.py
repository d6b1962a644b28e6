"""Workers as real processes, on ports of their own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Self

import grpc
from pydantic import SecretStr

from remembrancer.runtime.channels import open_channel

ROOT = Path(__file__).parents[2]


class WorkerProcess:
    """One worker with its log and what it wrote to stderr. A context manager, in which it may or may not listen."""

    def __init__(self, module: str, **settings: str) -> None:
        """Take the worker's module and its settings, without their prefix."""
        self._module = module
        token = settings.get("WORKER_TOKEN")
        self._token = SecretStr(token) if token is not None else None
        self._environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "REMEMBRANCER_LISTEN": "127.0.0.1:0",
            "REMEMBRANCER_OPS_LISTEN": "127.0.0.1:0",
            **{f"REMEMBRANCER_{name}": value for name, value in settings.items()},
        }
        self._channel: grpc.aio.Channel | None = None

    async def __aenter__(self) -> Self:
        self._log, self._errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  (read after its end)
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", self._module, stdout=self._log, stderr=self._errors, env=self._environment
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._channel is not None:
            await self._channel.close(None)
        await self.end(signal.SIGKILL)

    async def listening(self) -> grpc.aio.Channel:
        """Wait until it listens, and return a channel to it."""
        async with asyncio.timeout(60):
            while (line := self._told()) is None:
                assert self.process.returncode is None, self.errors()
                await asyncio.sleep(0.01)
        self.address, self.ops = line["address"], line["ops"]
        self._channel = open_channel(self.address, self._token)
        return self._channel

    def log(self) -> str:
        return _content(self._log.fileno())

    def errors(self) -> str:
        return _content(self._errors.fileno())

    async def end(self, number: int = signal.SIGTERM) -> int:
        """Tell it to end and return its exit code."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), 20)

    def _told(self) -> dict[str, str] | None:
        for line in self.log().splitlines(keepends=True):
            if line.endswith("\n") and (found := json.loads(line))["event"] == "listening":
                return dict(found)
        return None


def _content(file: int) -> str:
    return os.pread(file, os.fstat(file).st_size, 0).decode()


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
