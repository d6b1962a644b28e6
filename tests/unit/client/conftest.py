"""A real gRPC server with scripted answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import status_pb2
from grpc_status import rpc_status

from remembrancer.v1 import recall_pb2, recall_pb2_grpc, session_pb2_grpc

Answer = Callable[[grpc.ServicerContext], Message]


@dataclass
class Script:
    """What the server does, and what it saw."""

    answer: Answer
    address: str = ""
    requests: list[Message] = field(default_factory=list)
    metadata: list[dict[str, str | bytes]] = field(default_factory=list)

    def run(self, request: Message, context: grpc.ServicerContext) -> Message:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        return self.answer(context)


class Recalls(recall_pb2_grpc.RecallServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    def Recall(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return self.script.run(request, context)


class Sessions(session_pb2_grpc.SessionServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    def Feedback(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return self.script.run(request, context)


def serve(script: Script, address: str = "127.0.0.1:0") -> grpc.Server:
    server = grpc.server(ThreadPoolExecutor(4))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(Recalls(script), server)  # type: ignore[abstract]
    session_pb2_grpc.add_SessionServiceServicer_to_server(Sessions(script), server)  # type: ignore[abstract]
    port = server.add_insecure_port(address)
    script.address = f"127.0.0.1:{port}"
    server.start()
    return server


@pytest.fixture
def script() -> Iterator[Script]:
    scripted = Script(lambda _: recall_pb2.RecallResponse(retrieval_id="r-1"))
    server = serve(scripted)
    yield scripted
    server.stop(0).wait()


def refuse(code: grpc.StatusCode, message: str, *details: Message) -> Answer:
    """Return an answer that fails with details."""

    def answer(context: grpc.ServicerContext) -> Message:
        packed = []
        for detail in details:
            any_detail = any_pb2.Any()
            any_detail.Pack(detail)
            packed.append(any_detail)
        status = status_pb2.Status(code=code.value[0], message=message, details=packed)
        context.abort_with_status(rpc_status.to_status(status))

    return answer
