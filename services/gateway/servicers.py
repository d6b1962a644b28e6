"""The public services: each call goes to the function that is named after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from remembrancer.v1 import (
    contents_pb2,
    correction_pb2,
    listing_pb2,
    memory_pb2,
    memory_pb2_grpc,
    pause_pb2,
    recall_pb2,
    recall_pb2_grpc,
    session_pb2,
    session_pb2_grpc,
    transfer_pb2,
)
from services.gateway.memories.contents import get_contents
from services.gateway.memories.forgetting.call import forget
from services.gateway.memories.list_memories import list_memories
from services.gateway.memories.pause import pause_persistence, resume_persistence
from services.gateway.memories.remember import record_turns, remember
from services.gateway.memories.scopes import get_scope, list_scopes
from services.gateway.memories.update import restore_memory, update_memory
from services.gateway.recall.recall import recall
from services.gateway.recall.recall_with_context import recall_with_context
from services.gateway.requests.calls import Call
from services.gateway.sessions.abandon import abandon_session
from services.gateway.sessions.activate import activate
from services.gateway.sessions.commit import commit
from services.gateway.sessions.feedback import feedback
from services.gateway.sessions.get_session import get_session
from services.gateway.sessions.list_sessions import list_sessions
from services.gateway.shared.parts import Parts
from services.gateway.transfer.export import export
from services.gateway.transfer.importing import import_scope

# ruff: noqa: N802, D102  (the names are those of the protos, which say what each call does)


class SessionServicer(session_pb2_grpc.SessionServiceServicer):
    """Sessions, feedback, commit."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def Activate(self, request: session_pb2.ActivateRequest, context: Any) -> session_pb2.ActivateResponse:
        return await activate(self._parts, request, Call(context))

    async def Feedback(self, request: session_pb2.FeedbackRequest, context: Any) -> session_pb2.FeedbackResponse:
        return await feedback(self._parts, request, Call(context))

    async def Commit(self, request: session_pb2.CommitRequest, context: Any) -> session_pb2.CommitResponse:
        return await commit(self._parts, request, Call(context))

    async def AbandonSession(
        self, request: session_pb2.AbandonSessionRequest, context: Any
    ) -> session_pb2.AbandonSessionResponse:
        return await abandon_session(self._parts, request, Call(context))

    async def ListSessions(
        self, request: session_pb2.ListSessionsRequest, context: Any
    ) -> session_pb2.ListSessionsResponse:
        return await list_sessions(self._parts, request, Call(context))

    async def GetSession(self, request: session_pb2.GetSessionRequest, context: Any) -> session_pb2.GetSessionResponse:
        return await get_session(self._parts, request, Call(context))


class RecallServicer(recall_pb2_grpc.RecallServiceServicer):
    """Recalls, and the whole texts of what they found."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def Recall(self, request: recall_pb2.RecallRequest, context: Any) -> recall_pb2.RecallResponse:
        return await recall(self._parts, request, Call(context))

    async def RecallWithContext(
        self, request: recall_pb2.RecallWithContextRequest, context: Any
    ) -> recall_pb2.RecallWithContextResponse:
        return await recall_with_context(self._parts, request, Call(context))

    async def GetContents(
        self, request: contents_pb2.GetContentsRequest, context: Any
    ) -> contents_pb2.GetContentsResponse:
        return await get_contents(self._parts, request, Call(context))


class MemoryServicer(memory_pb2_grpc.MemoryServiceServicer):
    """Writes and corrections, lists, pauses, transfers."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def Remember(self, request: memory_pb2.RememberRequest, context: Any) -> memory_pb2.RememberResponse:
        return await remember(self._parts, request, Call(context))

    async def RecordTurns(self, request: memory_pb2.RecordTurnsRequest, context: Any) -> memory_pb2.RecordTurnsResponse:
        return await record_turns(self._parts, request, Call(context))

    async def ListMemories(
        self, request: listing_pb2.ListMemoriesRequest, context: Any
    ) -> listing_pb2.ListMemoriesResponse:
        return await list_memories(self._parts, request, Call(context))

    async def GetScope(self, request: listing_pb2.GetScopeRequest, context: Any) -> listing_pb2.GetScopeResponse:
        return await get_scope(self._parts, request, Call(context))

    async def ListScopes(self, request: listing_pb2.ListScopesRequest, context: Any) -> listing_pb2.ListScopesResponse:
        return await list_scopes(self._parts, request, Call(context))

    async def UpdateMemory(
        self, request: correction_pb2.UpdateMemoryRequest, context: Any
    ) -> correction_pb2.UpdateMemoryResponse:
        return await update_memory(self._parts, request, Call(context))

    async def Forget(self, request: correction_pb2.ForgetRequest, context: Any) -> correction_pb2.ForgetResponse:
        return await forget(self._parts, request, Call(context))

    async def RestoreMemory(
        self, request: correction_pb2.RestoreMemoryRequest, context: Any
    ) -> correction_pb2.RestoreMemoryResponse:
        return await restore_memory(self._parts, request, Call(context))

    async def PausePersistence(
        self, request: pause_pb2.PausePersistenceRequest, context: Any
    ) -> pause_pb2.PausePersistenceResponse:
        return await pause_persistence(self._parts, request, Call(context))

    async def ResumePersistence(
        self, request: pause_pb2.ResumePersistenceRequest, context: Any
    ) -> pause_pb2.ResumePersistenceResponse:
        return await resume_persistence(self._parts, request, Call(context))

    async def Export(
        self, request: transfer_pb2.ExportRequest, context: Any
    ) -> AsyncIterator[transfer_pb2.ExportResponse]:
        async for part in export(self._parts, request, Call(context)):
            yield part

    async def Import(
        self, request_iterator: AsyncIterator[transfer_pb2.ImportRequest], context: Any
    ) -> AsyncIterator[transfer_pb2.ImportResponse]:
        async for answer in import_scope(self._parts, request_iterator, Call(context)):
            yield answer
