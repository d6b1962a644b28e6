"""The checks of Recall and RecallWithContext."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from remembrancer.model.axes import check_axes
from remembrancer.model.clock import check_timestamp
from remembrancer.model.errors import InvalidField
from remembrancer.model.scope import AXIS_LENGTH, ScopeKey, parse_scope
from remembrancer.model.task_context import check_context
from remembrancer.model.text import bounded, request_id, require, trimmed
from remembrancer.store.keys import PartitionKeys
from remembrancer.v1 import common_pb2, recall_pb2
from services.gateway.requests import enums
from services.gateway.requests.limits import QUERY_LENGTH, TOP_K_MAX, share, whole_number

TOP_K_ACTIVE: Final = 15
TOP_K_DEEP: Final = 25


@dataclass(frozen=True, slots=True)
class CheckedRecall:
    """A recall whose fields are checked, but not its session; `request` has those that are taken as they are."""

    request: recall_pb2.RecallRequest
    scope: ScopeKey
    query: str
    mode: recall_pb2.RecallMode.ValueType
    top_k: int
    floor: float | None
    context: dict[str, Any] | None
    axes: common_pb2.Axes

    @property
    def keys(self) -> PartitionKeys:
        """The key names of the scope's partition."""
        return PartitionKeys.of(self.scope.path)

    @property
    def wants_answer(self) -> bool:
        """Whether the caller wants a probable answer; one who says nothing does."""
        return self.request.probable_answer or not self.request.HasField("probable_answer")


def check_recall(request: recall_pb2.RecallRequest, *, blank: bool = False) -> CheckedRecall:
    """Check everything but the session; `blank`: whether the query may be so. Errors: InvalidField."""
    (bounded if blank else require)("query", request.query, QUERY_LENGTH)
    scope = parse_scope(request.scope)
    enums.known("mode", recall_pb2.RecallMode, request.mode)
    enums.known("evidence", recall_pb2.EvidenceMode, request.evidence)
    enums.all_known("any_axis", common_pb2.Axis, request.any_axis)
    enums.all_known("kinds", common_pb2.MemoryKind, request.kinds)
    enums.all_known("types", common_pb2.MemoryType, request.types)
    enums.all_known("require_tiers", common_pb2.Tier, request.require_tiers)
    mode = request.mode or recall_pb2.RECALL_MODE_ACTIVE
    deep = mode == recall_pb2.RECALL_MODE_DEEP
    for field in ("occurred_after", "occurred_before", "as_of"):
        if request.HasField(field):
            check_timestamp(field, getattr(request, field))
    if not deep and common_pb2.TIER_DEEP in request.require_tiers:
        raise InvalidField("require_tiers", "TIER_DEEP is asked in mode DEEP only")
    request_id(request.request_id)
    bounded("session_key", request.session_key, AXIS_LENGTH)
    return CheckedRecall(
        request=request,
        scope=scope,
        query=trimmed(request.query),
        mode=mode,
        top_k=whole_number(
            "top_k",
            request.top_k if request.HasField("top_k") else None,
            TOP_K_DEEP if deep else TOP_K_ACTIVE,
            1,
            TOP_K_MAX,
        ),
        floor=share("min_score", request.min_score if request.HasField("min_score") else None),
        context=check_context(request.task_context) if request.HasField("task_context") else None,
        axes=check_axes(request.axes, scope),
    )
