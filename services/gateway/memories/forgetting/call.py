"""Forget: begins an erasure and sees it through as far as the answer promises, or hides."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.clock import from_ms
from remembrancer.model.errors import Conflict, InvalidField
from remembrancer.model.ids import new_token
from remembrancer.model.scope import AXIS_LENGTH, ScopeKey, parse_scope
from remembrancer.model.selection import Selection, bounds_of, is_bounded
from remembrancer.model.text import request_id, require
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.live import oldest_after
from remembrancer.store.partition import Applied, fields_at
from remembrancer.v1 import common_pb2, correction_pb2
from services.gateway.memories.forgetting.erasure import erase_copies, erase_records, erased_by
from services.gateway.memories.forgetting.mistyped import drop_unless_hash
from services.gateway.memories.forgetting.records import CHUNK
from services.gateway.memories.selecting import check_selection, check_view, find
from services.gateway.requests.calls import Call
from services.gateway.shared.idempotency import WRITES_MS, FirstAnswer, Idempotency
from services.gateway.shared.parts import Parts
from services.gateway.shared.retries import apply_once, tries

RPC: Final = "Forget"
ATTEMPTS: Final = 8
COPIES_SECONDS: Final = 5.0
"""How long an answer waits for the copies; the rest is done without it."""


async def forget(parts: Parts, request: correction_pb2.ForgetRequest, call: Call) -> correction_pb2.ForgetResponse:
    """Erase or hide; return when no recall that starts from now on returns any of it."""
    scope, view, selection = _check(request, parts.operating_context.projects)
    async with parts.write_gate.passed(PartitionKeys.of(scope.path).partition):
        return await _forget(parts, request, call, scope, view, selection)


async def _forget(
    parts: Parts,
    request: correction_pb2.ForgetRequest,
    call: Call,
    scope: ScopeKey,
    view: Selection,
    selection: Selection | None,
) -> correction_pb2.ForgetResponse:
    keys = PartitionKeys.of(scope.path)
    idempotency = Idempotency.of(keys, call.caller, RPC, request, request.request_id, WRITES_MS)
    first = await idempotency.read_first(parts.store)
    if first is not None:
        return await _again(parts, keys, store_pb2.ForgetPlan.FromString(first.answer))
    if request.suppress:
        target, _ = await _target(parts, keys, request, scope.path, view, selection)
        return correction_pb2.ForgetResponse(forgotten=await _suppress(parts, keys, target, selection, idempotency))
    name = new_token()
    await parts.sweeper.begin(keys.partition)
    await drop_unless_hash(parts.store, keys, keys.erasures)
    async for _ in tries(ATTEMPTS):
        target, n = await _target(parts, keys, request, scope.path, view, selection)
        change = Change(keys)
        if target.WhichOneof("target") != "n":
            # What a commit made of a session's words in between must be erased with the rest.
            change.require_same("last number", keys.meta, "n", n)
        if target.everything:
            # An import that still runs can store nothing from here on, and none finds itself complete.
            change.write("UNLINK", keys.imported)
        change.write("HSET", keys.erasures, name, target.SerializeToString())
        idempotency.remember(change, store_pb2.ForgetPlan(erasure=name))
        outcome = await apply_once(parts, change, idempotency)
        if isinstance(outcome, FirstAnswer):
            return await _again(parts, keys, store_pb2.ForgetPlan.FromString(outcome.answer))
        if outcome is not None:
            return await _carry_out(parts, keys, name)
    raise Conflict("the scope is being written to all the time; try again")


def _check(
    request: correction_pb2.ForgetRequest, projects: Mapping[str, str] | None
) -> tuple[ScopeKey, Selection, Selection | None]:
    """Return the scope, what is visible of single memories, and what is selected."""
    form = request.WhichOneof("target")
    if form is None:
        raise InvalidField("target", "set one of memory_id, selection, whole_scope")
    request_id(request.request_id)
    scope = parse_scope(request.scope)
    if form == "memory_id":
        require("memory_id", request.memory_id, AXIS_LENGTH)
        return scope, check_view(request.axes, request.any_axis, scope, projects), None
    for name, given in (("axes", request.HasField("axes")), ("any_axis", request.any_axis)):
        if given:
            raise InvalidField(name, "goes with memory_id only")
    if form == "selection":
        selection = check_selection(request.selection, scope, projects)
        if not is_bounded(request.selection) and not (scope.user_id or scope.conversation_id):
            raise InvalidField("selection", "must have a bound; to forget everything say whole_scope")
        return scope, selection, selection
    if not request.whole_scope:
        raise InvalidField("whole_scope", "must be true when it is set")
    if scope.user_id or scope.conversation_id:
        raise InvalidField("whole_scope", "takes neither user_id nor session_id; use a selection")
    if request.suppress:
        raise InvalidField("suppress", "does not go with whole_scope")
    return scope, check_view(common_pb2.Axes(), (), scope, projects), None


async def _target(
    parts: Parts,
    keys: PartitionKeys,
    request: correction_pb2.ForgetRequest,
    scope: str,
    view: Selection,
    selection: Selection | None,
) -> tuple[store_pb2.Erasure, bytes | None]:
    """Return what is to be erased, and the last number as it was read."""
    snapshot = await parts.store.read(("HGET", keys.meta, "n"))
    raw = snapshot.answers[0]
    last, at = decode.last_number(raw), from_ms(snapshot.now_ms)
    if request.WhichOneof("target") == "memory_id":
        n = (await find(parts, keys, request.memory_id, view, hidden=not request.suppress)).n
        return store_pb2.Erasure(n=n, last=n, done=n - 1, at=at), raw
    if selection is not None:
        return store_pb2.Erasure(bounds=bounds_of(selection), last=last, at=at), raw
    return store_pb2.Erasure(everything=True, scope=scope, last=last, at=at), raw


async def _carry_out(parts: Parts, keys: PartitionKeys, name: str) -> correction_pb2.ForgetResponse:
    await erase_records(parts, keys, name)
    erased = await erased_by(parts, keys, name)
    copies = asyncio.ensure_future(erase_copies(parts, keys, name))
    done, _ = await asyncio.wait({copies}, timeout=COPIES_SECONDS)
    if not done:
        copies.cancel()  # The next look for unfinished erasures goes on with it.
        return correction_pb2.ForgetResponse(forgotten=erased, erasing=True)
    try:
        copies.result()
    except Conflict:
        return correction_pb2.ForgetResponse(forgotten=erased, erasing=True)
    return correction_pb2.ForgetResponse(forgotten=erased)


async def _again(parts: Parts, keys: PartitionKeys, plan: store_pb2.ForgetPlan) -> correction_pb2.ForgetResponse:
    if not plan.erasure:
        return correction_pb2.ForgetResponse(forgotten=plan.hidden)
    erased = await parts.store.read_one(("GET", keys.erased(plan.erasure)))
    if erased is not None:
        return correction_pb2.ForgetResponse(forgotten=int(erased))
    return await _carry_out(parts, keys, plan.erasure)


async def _suppress(
    parts: Parts,
    keys: PartitionKeys,
    target: store_pb2.Erasure,
    selection: Selection | None,
    idempotency: Idempotency,
) -> int:
    """Hide record by record in chunks; return how many were hidden."""
    hidden, done, last = 0, target.done, False
    while not last:
        ns = await oldest_after(parts.store, keys, done, CHUNK, target.last)
        last = len(ns) < CHUNK
        async for _ in tries(ATTEMPTS):
            change, count = Change(keys), 0
            raws = await parts.store.read_one(fields_at(keys.records, ns))
            for n, raw in zip(ns, raws, strict=True):
                count += raw is not None and _hide(change, n, raw, selection)
            if last:
                idempotency.remember(change, store_pb2.ForgetPlan(hidden=hidden + count))
            elif not count:
                break
            outcome = await apply_once(parts, change, idempotency)
            if isinstance(outcome, FirstAnswer):
                return store_pb2.ForgetPlan.FromString(outcome.answer).hidden
            if isinstance(outcome, Applied):
                break
        else:
            raise Conflict("the memories were changed too often meanwhile; try again")
        hidden, done = hidden + count, ns[-1] if ns else done
    return hidden


def _hide(change: Change, n: int, raw: bytes, selection: Selection | None) -> bool:
    record = decode.record(raw)
    if record is None or record.suppressed or (selection is not None and not selection.matches(record)):
        return False
    record.suppressed = True
    record.status = common_pb2.MEMORY_STATUS_STALE
    record.stale_reason = common_pb2.STALE_REASON_UNSPECIFIED
    change.require_same("record", change.keys.records, str(n), raw)
    change.write("HSET", change.keys.records, n, record.SerializeToString())
    change.announce(FeedOp.RECORD, n)
    return True
