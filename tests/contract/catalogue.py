"""Every public RPC, from the service descriptors, and raw calls to it."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import status_pb2

import remembrancer.v1

SECONDS = 10.0


@dataclass(frozen=True)
class Rpc:
    """One RPC: its name, such as `RecallService/Recall`, and its messages."""

    name: str
    request: type[Message]
    response: type[Message]
    streams_requests: bool
    streams_responses: bool

    @property
    def path(self) -> str:
        return f"/remembrancer.v1.{self.name}"

    def call(self, channel: grpc.Channel, raw: bytes) -> tuple[status_pb2.Status | None, list[Message]]:
        """Send one request as bytes; return the status (None = OK) and the answers."""
        kind = (
            ("stream" if self.streams_requests else "unary") + "_" + ("stream" if self.streams_responses else "unary")
        )
        method = getattr(channel, kind)(self.path, None, self.response.FromString)
        try:
            answer = method(iter([raw]) if self.streams_requests else raw, timeout=SECONDS)
            return None, list(answer) if self.streams_responses else [answer]
        except grpc.RpcError as error:
            return _status(error), []


def _status(error: Any) -> status_pb2.Status:
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    if details is None:
        return status_pb2.Status(code=error.code().value[0], message=error.details() or "")
    status = status_pb2.Status.FromString(details)
    assert status.code == error.code().value[0]
    return status


def _rpcs() -> Iterator[Rpc]:
    for module in pkgutil.iter_modules(remembrancer.v1.__path__):
        if not module.name.endswith("_pb2"):
            continue
        file = import_module(f"remembrancer.v1.{module.name}").DESCRIPTOR
        for service in file.services_by_name.values():
            for method in service.methods:
                yield Rpc(
                    f"{service.name}/{method.name}",
                    GetMessageClass(method.input_type),
                    GetMessageClass(method.output_type),
                    method.client_streaming,
                    method.server_streaming,
                )


RPCS = sorted(_rpcs(), key=lambda rpc: rpc.name)
