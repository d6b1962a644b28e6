"""The blocking client."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

import grpc
from google.protobuf.message import Message

from remembrancer.client import memory_calls, recall_calls, session_calls, transfer_calls
from remembrancer.client.arguments import ScopeLike
from remembrancer.client.call import Call, serialize
from remembrancer.client.config import MAX_ATTEMPTS, Connection, default_target
from remembrancer.client.errors import check_coverage, from_rpc_error, not_connected
from remembrancer.v1 import transfer_pb2

P = ParamSpec("P")
R = TypeVar("R", bound=Message)


def _method(
    make: Callable[P, Call[R]], check: Callable[[Any, R], None] | None = None
) -> Callable[Concatenate[Client, P], R]:
    @functools.wraps(make)
    def method(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        call = make(*args, **kwargs)
        answer = client.send(call)
        if check is not None:
            check(call.request, answer)
        return answer

    return method


class Client:
    """A connection to the service; thread-safe, a context manager. Every call raises ClientError when it fails."""

    def __init__(self, connection: Connection | str) -> None:
        """Take where to connect, host:port if that is all; nothing is sent before the first call."""
        if isinstance(connection, str):
            connection = Connection(connection)
        options = list(connection.options())
        self._target = connection.target
        self._metadata = connection.metadata()
        self._channel = (
            grpc.insecure_channel(connection.target, options)
            if connection.credentials is None
            else grpc.secure_channel(connection.target, connection.credentials, options)
        )

    @classmethod
    def connect(
        cls,
        target: str | None = None,
        token: str | None = None,
        *,
        credentials: grpc.ChannelCredentials | None = None,
        attempts: int = MAX_ATTEMPTS,
    ) -> Client:
        """Return a client of the service at `target`, such as "127.0.0.1:7700"; see Connection for the rest.

        None is the address in REMEMBRANCER_TARGET, else 127.0.0.1:7700.
        """
        return cls(Connection(default_target() if target is None else target, token, credentials, attempts))

    activate = _method(session_calls.activate)
    feedback = _method(session_calls.feedback, check_coverage)
    commit = _method(session_calls.commit)
    abandon_session = _method(session_calls.abandon_session)
    get_session = _method(session_calls.get_session)
    list_sessions = _method(session_calls.list_sessions)
    recall = _method(recall_calls.recall)
    recall_with_context = _method(recall_calls.recall_with_context)
    get_contents = _method(recall_calls.get_contents)
    remember = _method(memory_calls.remember)
    record_turns = _method(memory_calls.record_turns)
    update_memory = _method(memory_calls.update_memory)
    forget = _method(memory_calls.forget)
    restore_memory = _method(memory_calls.restore_memory)
    pause_persistence = _method(memory_calls.pause_persistence)
    resume_persistence = _method(memory_calls.resume_persistence)
    list_memories = _method(memory_calls.list_memories)
    get_scope = _method(memory_calls.get_scope)
    list_scopes = _method(memory_calls.list_scopes)

    def wait_connected(self, timeout: float = 10.0) -> None:
        """Wait until the connection stands, at most `timeout` seconds; raise NotConnected, which is a TimeoutError."""
        try:
            grpc.channel_ready_future(self._channel).result(timeout)
        except grpc.FutureTimeoutError:
            raise not_connected(self._target) from None

    def send(self, call: Call[R]) -> R:
        """Send a call and return its answer as it is: of feedback, one that was rejected too."""
        invoke = self._channel.unary_unary(
            call.path, request_serializer=serialize, response_deserializer=call.response.FromString
        )
        try:
            answer: R = invoke(call.request, timeout=call.timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self._target) from None
        return answer

    def export_scope(self, *, scope: ScopeLike, after: int = 0) -> Iterator[transfer_pb2.ExportResponse]:
        """Yield the parts of an export: its header, then batches. `after` goes on where an earlier one broke off."""
        invoke = self._channel.unary_stream(
            transfer_calls.EXPORT_PATH,
            request_serializer=serialize,
            response_deserializer=transfer_pb2.ExportResponse.FromString,
        )
        try:
            yield from invoke(transfer_calls.export_request(scope, after), metadata=self._metadata)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self._target) from None

    def import_scope(
        self, parts: Iterable[transfer_pb2.ExportResponse], *, scope: ScopeLike, import_id: str | None = None
    ) -> Iterator[transfer_pb2.ImportResponse]:
        """Send the parts of an export into a new scope; yield how far it is after each.

        Nothing happens before the iterator is used. One that broke off is resumed with the same `import_id`.
        """
        invoke = self._channel.stream_stream(
            transfer_calls.IMPORT_PATH,
            request_serializer=serialize,
            response_deserializer=transfer_pb2.ImportResponse.FromString,
        )
        requests = transfer_calls.import_requests(parts, scope, import_id)
        try:
            yield from invoke(requests, metadata=self._metadata)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self._target) from None

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def __enter__(self) -> Client:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self.close()
