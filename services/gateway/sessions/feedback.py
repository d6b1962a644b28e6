"""Feedback: reads what the feedback touches, decides with the model, writes all of it in one change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remembrancer.model.errors import Conflict, InvalidField, RetrievalNotFound
from remembrancer.model.feedback import check_item, check_size
from remembrancer.model.ids import RetrievalRef, parse_retrieval
from remembrancer.model.text import request_id
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import Applied
from remembrancer.v1 import session_pb2
from services.gateway.requests.calls import Call
from services.gateway.requests.limits import BATCH
from services.gateway.sessions.feedback_state import FeedbackState, read_feedback_state
from services.gateway.sessions.feedback_work import Work, not_found
from services.gateway.shared.idempotency import WRITES_MS, FirstAnswer, Idempotency
from services.gateway.shared.parts import Parts
from services.gateway.shared.retries import apply_once, tries

RPC: Final = "Feedback"
ATTEMPTS: Final = 24
"""Tries while other feedback changes the same records; one of the rivals gets through in each round."""


async def feedback(parts: Parts, request: session_pb2.FeedbackRequest, call: Call) -> session_pb2.FeedbackResponse:
    """Take feedback on one retrieval or on several."""
    items = _items(request)
    batch = bool(request.items)
    refs = [parse_retrieval(item.retrieval_id) for item in items]
    partitions = {ref.partition for ref in refs if ref is not None}
    if len(partitions) > 1:
        raise InvalidField("items", "must be retrievals of one scope")
    if not partitions:
        return _nothing(items, batch)
    keys = PartitionKeys(partitions.pop())
    idempotency = Idempotency.of(keys, call.caller, RPC, request, request.request_id, WRITES_MS)
    async for _ in tries(ATTEMPTS):
        state = await read_feedback_state(parts, keys, call.caller, refs, items, idempotency)
        if not isinstance(state, FeedbackState):
            return session_pb2.FeedbackResponse.FromString(state)
        if not state.retrievals:
            # Nothing is written on behalf of ids that do not exist, not even the memory of the request.
            return _nothing(items, batch)
        work = Work(state)
        response = session_pb2.FeedbackResponse(results=_judge(work, refs, items, batch))
        change = work.change(parts.retention, call.caller)
        idempotency.remember(change, response)
        match await apply_once(parts, change, idempotency):
            case Applied():
                return response
            case FirstAnswer(answer):
                return session_pb2.FeedbackResponse.FromString(answer)
    raise Conflict("the memories changed too often meanwhile; try again")


def _judge(
    work: Work, refs: Sequence[RetrievalRef | None], items: Sequence[session_pb2.FeedbackItem], batch: bool
) -> list[session_pb2.FeedbackResult]:
    return [
        work.judge(ref, item, f"items[{i}]." if batch else "")
        if ref is not None and work.knows(ref)
        else not_found(item)
        for i, (ref, item) in enumerate(zip(refs, items, strict=True))
    ]


def _nothing(items: Sequence[session_pb2.FeedbackItem], batch: bool) -> session_pb2.FeedbackResponse:
    """Answer a call none of whose retrievals exists. Errors: RetrievalNotFound, in a batch as each item's `error`."""
    if not batch:
        raise RetrievalNotFound(items[0].retrieval_id[:256])
    return session_pb2.FeedbackResponse(results=[not_found(item) for item in items])


def _items(request: session_pb2.FeedbackRequest) -> Sequence[session_pb2.FeedbackItem]:
    request_id(request.request_id)
    single = session_pb2.FeedbackItem(
        retrieval_id=request.retrieval_id,
        memory_feedback=request.memory_feedback,
        procedure_feedback=request.procedure_feedback,
        coverage=request.coverage,
        remaining=request.remaining,
        retrieval_quality=request.retrieval_quality,
        missing=request.missing,
    )
    if not request.items:
        check_item(single)
        return [single]
    if single.ByteSize():
        raise InvalidField("items", "cannot stand beside the fields of the single form")
    if len(request.items) > BATCH:
        raise InvalidField("items", f"must have at most {BATCH} entries, has {len(request.items)}")
    check_size(request.items)
    named: set[str] = set()
    for i, item in enumerate(request.items):
        check_item(item, f"items[{i}].")
        if item.retrieval_id in named:
            raise InvalidField(f"items[{i}].retrieval_id", "stands twice in this call")
        named.add(item.retrieval_id)
    return list(request.items)
