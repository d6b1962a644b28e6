"""Arguments of the client become the right proto messages, or a clear error."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf import json_format

from remembrancer.client import (
    AsyncClient,
    Client,
    context_entry,
    feedback_item,
    memory,
    memory_calls,
    memory_feedback,
    name_of,
    names_of,
    procedure,
    procedure_feedback,
    recall_calls,
    selection,
    session_calls,
    tenant,
    trajectory_entry,
    turn,
    verification,
)
from remembrancer.client.arguments import to_struct, to_timestamp
from remembrancer.client.call import Call
from remembrancer.client.enums import number_of
from remembrancer.v1 import common_pb2, memory_pb2, recall_pb2, session_pb2

SERVICES = [
    *session_pb2.DESCRIPTOR.services_by_name.values(),
    *recall_pb2.DESCRIPTOR.services_by_name.values(),
    *memory_pb2.DESCRIPTOR.services_by_name.values(),
]
STREAMS = ("Export", "Import")
METHODS = [(service, method) for service in SERVICES for method in service.methods if method.name not in STREAMS]

FUNCTIONS: dict[str, Callable[..., Call[Any]]] = {
    "Activate": session_calls.activate,
    "Feedback": session_calls.feedback,
    "Commit": session_calls.commit,
    "AbandonSession": session_calls.abandon_session,
    "GetSession": session_calls.get_session,
    "ListSessions": session_calls.list_sessions,
    "Recall": recall_calls.recall,
    "Remember": memory_calls.remember,
    "RecordTurns": memory_calls.record_turns,
    "RecallWithContext": recall_calls.recall_with_context,
    "GetContents": recall_calls.get_contents,
    "UpdateMemory": memory_calls.update_memory,
    "Forget": memory_calls.forget,
    "RestoreMemory": memory_calls.restore_memory,
    "PausePersistence": memory_calls.pause_persistence,
    "ResumePersistence": memory_calls.resume_persistence,
    "ListMemories": memory_calls.list_memories,
    "GetScope": memory_calls.get_scope,
    "ListScopes": memory_calls.list_scopes,
}
MINIMAL: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "Activate": (("t", "g"), {"scope": "a:b"}),
    "Feedback": (("r",), {}),
    "Commit": (("s",), {"scope": "a:b", "final_goal": "g", "outcome": "success", "outcome_summary": "o"}),
    "AbandonSession": (("s",), {"scope": "a:b"}),
    "GetSession": (("s",), {"scope": "a:b"}),
    "ListSessions": ((), {"scope": "a:b"}),
    "Recall": (("q",), {"scope": "a:b"}),
    "Remember": (([memory("fact", "x")],), {"scope": "a:b"}),
    "RecordTurns": (([turn("x")],), {"scope": "a:b"}),
    "RecallWithContext": (("q",), {"scope": "a:b", "agent_id": "a"}),
    "GetContents": ((["sch_1"],), {"scope": "a:b"}),
    "UpdateMemory": (("sch_1",), {"scope": "a:b"}),
    "Forget": (("sch_1",), {"scope": "a:b"}),
    "RestoreMemory": (("sch_1",), {"scope": "a:b"}),
    "PausePersistence": ((), {"scope": "a:b"}),
    "ResumePersistence": ((), {"scope": "a:b"}),
    "ListMemories": ((), {"scope": "a:b"}),
    "GetScope": ((), {"scope": "a:b"}),
    "ListScopes": ((), {}),
}


def minimal(name: str, **more: Any) -> Call[Any]:
    args, kwargs = MINIMAL[name]
    return FUNCTIONS[name](*args, **kwargs, **more)


@pytest.mark.parametrize(("service", "method"), METHODS, ids=[method.name for _, method in METHODS])
def test_every_call_of_the_api_has_a_function_with_every_field(service: Any, method: Any) -> None:
    call = minimal(method.name)
    assert call.path == f"/{service.full_name}/{method.name}"
    module = FUNCTIONS[method.name].__module__
    assert module == f"remembrancer.client.{service.name.removesuffix('Service').lower()}_calls"
    assert call.request.DESCRIPTOR is method.input_type
    assert call.response.DESCRIPTOR is method.output_type
    arguments = set(inspect.signature(FUNCTIONS[method.name]).parameters)
    assert arguments - {"timeout"} == set(method.input_type.fields_by_name)


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_both_clients_have_every_call(client: type) -> None:
    methods = {name: inspect.unwrap(member) for name, member in vars(client).items() if callable(member)}
    for function in FUNCTIONS.values():
        assert methods[function.__name__] is function
    assert {name.lower() for name in STREAMS} <= {name.removesuffix("_scope") for name in methods}


@pytest.mark.parametrize(
    "name", [method.name for _, method in METHODS if "request_id" in method.input_type.fields_by_name]
)
def test_calls_that_change_something_carry_a_fresh_request_id(name: str) -> None:
    first, second = minimal(name).request.request_id, minimal(name).request.request_id
    assert first
    assert len(first) <= 64
    assert first.isascii()
    assert first != second
    assert minimal(name, request_id="mine").request.request_id == "mine"


def test_unset_stays_unset() -> None:
    request = recall_calls.recall("q", scope="a:b").request
    assert isinstance(request, recall_pb2.RecallRequest)
    assert not request.HasField("top_k")
    assert not request.HasField("min_score")
    assert not request.HasField("probable_answer")
    assert not request.HasField("axes")
    assert not request.HasField("as_of")


def test_given_arguments_arrive() -> None:
    request = recall_calls.recall(
        "q",
        scope=tenant("acme", user_id="u"),
        mode="deep",
        top_k=0,
        min_score=0.0,
        probable_answer=False,
        task_context={"a": {"b": [1, "x"]}},
        axes={"project_id": ""},
        kinds=["turn"],
        types=["fact", "open_question"],
        require_tiers=["active"],
    ).request
    assert isinstance(request, recall_pb2.RecallRequest)
    assert request.scope.tenant == common_pb2.TenantScope(org_id="acme", user_id="u")
    assert request.mode == recall_pb2.RECALL_MODE_DEEP
    assert request.HasField("top_k")
    assert request.HasField("min_score")
    assert request.HasField("probable_answer")
    assert request.axes.HasField("project_id")
    assert json_format.MessageToDict(request.task_context) == {"a": {"b": [1.0, "x"]}}
    assert request.kinds == [common_pb2.MEMORY_KIND_TURN]
    assert request.types == [common_pb2.MEMORY_TYPE_FACT, common_pb2.MEMORY_TYPE_OPEN_QUESTION]
    assert request.require_tiers == [common_pb2.TIER_ACTIVE]


def test_enum_values_go_by_name_or_number() -> None:
    assert number_of(recall_pb2.RecallMode.DESCRIPTOR, "DEEP") == recall_pb2.RECALL_MODE_DEEP
    assert number_of(recall_pb2.RecallMode.DESCRIPTOR, 99) == 99
    with pytest.raises(ValueError, match="'deeper' is not one of: active, deep"):
        number_of(recall_pb2.RecallMode.DESCRIPTOR, "deeper")


def test_a_naive_moment_is_read_as_utc() -> None:
    naive, aware = datetime(2024, 3, 10, 1), datetime(2024, 3, 10, 10, tzinfo=timezone(timedelta(hours=9)))  # noqa: DTZ001
    assert to_timestamp(naive) == to_timestamp(aware) == to_timestamp(datetime(2024, 3, 10, 1, tzinfo=UTC))


HALF = "\ud83c"


@pytest.mark.parametrize(
    "make",
    [
        lambda: recall_calls.recall(f"ab{HALF}", scope="a:b"),
        lambda: recall_calls.recall("q", scope=f"a:b{HALF}"),
        lambda: recall_calls.recall("q", scope="a:b", task_context={"k": [{"x": HALF}]}),
        lambda: recall_calls.recall("q", scope="a:b", axes={"user_id": HALF}),
        lambda: memory("fact", HALF),
        lambda: turn(HALF),
        lambda: turn("x", name=HALF),
        lambda: memory_feedback("sch_1", "stale", stale_reason="outdated", reason=HALF),
        lambda: session_calls.feedback("r", missing=["fine", HALF]),
        lambda: tenant(HALF),
    ],
)
def test_d3_a_lone_surrogate_fails_here_with_a_clear_error(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="lone surrogate"):
        make()


def test_d3_the_error_says_where() -> None:
    with pytest.raises(ValueError, match="query: the character at position 2"):
        recall_calls.recall(f"ab{HALF}", scope="a:b")


def test_d3_whole_characters_pass() -> None:
    text = "🍸👩‍👩‍👧‍👦🇯🇵"
    assert memory("fact", text).content == text
    struct = to_struct({"k": text})
    assert struct is not None
    assert struct["k"] == text


def commit(**more: Any) -> Any:
    given = {"scope": "a:b", "final_goal": "g", "outcome": "success", "outcome_summary": "o", **more}
    return session_calls.commit("s", **given).request


@pytest.mark.parametrize("name", ["deep", "DEEP", "RECALL_MODE_DEEP", "recall_mode_deep"])
def test_enum_values_go_short_and_in_full_in_any_case(name: str) -> None:
    assert recall_calls.recall("q", scope="a:b", mode=name).request.mode == recall_pb2.RECALL_MODE_DEEP


def test_enum_values_go_by_name_inside_mappings_too() -> None:
    request = commit(
        verification={"status": "partially_verified", "evidence_refs": ["ci"]},
        trajectory=[{"kind": "Action", "summary": "did", "status": "TRAJECTORY_STATUS_FAILED"}],
        procedure={"summary": "how", "steps": [{"summary": "first"}], "context": {"os": "linux"}},
    )
    assert request.verification == verification("partially_verified", evidence_refs=["ci"])
    assert request.trajectory == [trajectory_entry("action", "did", status="failed")]
    assert request.procedure == procedure("how", ["first"], context={"os": "linux"})
    item = {
        "retrieval_id": "r",
        "coverage": "complete",
        "memory_feedback": [{"memory_id": "sch_1", "assessment": "used"}],
        "procedure_feedback": [{"procedure_id": "proc_1", "assessment": "not_used"}],
    }
    (sent,) = session_calls.feedback(items=[item]).request.items
    assert sent == feedback_item(
        "r",
        coverage="complete",
        memory_feedback=[memory_feedback("sch_1", "used")],
        procedure_feedback=[procedure_feedback("proc_1", "not_used")],
    )
    assert sent.coverage == session_pb2.COVERAGE_DECLARATION_COMPLETE
    assert len(sent.memory_feedback) == 1
    asked = recall_calls.recall_with_context(
        "q", scope="a:b", agent_id="a", external_context=[{"content": "hello", "role": "user"}]
    )
    assert asked.request.external_context == [context_entry("hello", role="user")]
    listed = memory_calls.list_memories(scope="a:b", selection={"any_axis": ["agent_id"], "kinds": ["turn"]})
    assert listed.request.selection == selection(any_axis=["agent_id"], kinds=["turn"])


WHEN = datetime(2024, 3, 10, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("function", "names", "taken"),
    [
        (tenant, {"org_id": "acme", "user_id": "u"}, lambda given: recall_calls.recall("q", scope=given)),
        (
            memory,
            {"type": "fact", "content": "x", "occurred_at": WHEN, "axes": {"user_id": "u"}},
            lambda given: memory_calls.remember([given], scope="a:b"),
        ),
        (
            turn,
            {"content": "x", "name": "Ada", "role": "user", "timestamp": WHEN, "msg_id": "1"},
            lambda given: memory_calls.record_turns([given], scope="a:b"),
        ),
        (
            context_entry,
            {"content": "x", "role": "user", "timestamp": WHEN},
            lambda given: recall_calls.recall_with_context("q", scope="a:b", agent_id="a", external_context=[given]),
        ),
        (
            procedure,
            {"summary": "how", "steps": ["one", {"summary": "two"}], "caveats": ["c"], "context": {"os": "linux"}},
            lambda given: session_calls.commit(
                "s", scope="a:b", final_goal="g", outcome="success", outcome_summary="o", procedure=given
            ),
        ),
        (
            selection,
            {"kinds": ["turn"], "any_axis": ["agent_id"], "occurred_after": WHEN},
            lambda given: memory_calls.list_memories(scope="a:b", selection=given),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_mapping_with_the_same_names_does_as_well(
    function: Callable[..., object], names: dict[str, Any], taken: Callable[[object], Call[Any]]
) -> None:
    first, second = taken(names).request, taken(function(**names)).request
    if "request_id" in first.DESCRIPTOR.fields_by_name:
        first.request_id = second.request_id
    assert first == second


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: recall_calls.recall("q", scope="a:b", mode="deeper"), "mode: 'deeper' is not one of: active, deep"),
        (lambda: commit(outcome="unknown"), "outcome: 'unknown' is not one of: success, partial, failure"),
        (lambda: session_calls.feedback("r", remaining="used"), "remaining: 'used' is not one of: not_used, irrel"),
        (lambda: session_calls.feedback("r", items=[{"remaining": "stale"}]), r"items\[0\].remaining: 'stale' is not"),
        (lambda: commit(trajectory=[{"kind": "deed"}]), r"trajectory\[0\].kind: 'deed' is not one of: action, obs"),
        (lambda: memory("facts", "x"), "type: 'facts' is not one of: fact, preference"),
        (lambda: recall_calls.recall("q", scope="a:b", kinds="turn"), r"kinds: takes a list, such as \['turn'\]; not"),
        (lambda: recall_calls.recall("q", scope="a:b", kinds=[None]), r"kinds\[0\]: takes one of: observation, turn"),  # type: ignore[list-item]
        (lambda: memory_calls.remember("text", scope="a:b"), "memories: takes a list"),  # type: ignore[arg-type]
        (lambda: memory_calls.remember(memory("fact", "x"), scope="a:b"), "memories: takes a list; not a MemoryInput"),  # type: ignore[arg-type]
        (lambda: memory_calls.remember(["text"], scope="a:b"), r"memories\[0\]: takes what memory\(...\) returns"),  # type: ignore[list-item]
        (lambda: memory_calls.record_turns(["x"], scope="a:b"), r"turns\[0\]: takes what turn\(...\) returns"),  # type: ignore[list-item]
        (
            lambda: recall_calls.recall_with_context("q", scope="a:b", agent_id="a", external_context=["x"]),  # type: ignore[list-item]
            r"external_context\[0\]: takes what context_entry\(...\) returns",
        ),
        (lambda: memory_calls.forget(scope="a:b", selection=["x"]), r"selection: takes what selection\(...\) returns"),  # type: ignore[arg-type]
        (lambda: procedure("how", "first do this"), "steps: takes a list, such as"),
        (lambda: session_calls.feedback("r", missing="a thing"), "missing: takes a list"),
        (lambda: recall_calls.recall("q", scope="a:b", axes={"user": "u"}), "axes.user: there is no such field; there"),
        (lambda: recall_calls.recall("q", scope=7), "scope: takes a path such as 'project:apollo' or what tenant"),  # type: ignore[arg-type]
        (lambda: recall_calls.recall("q", scope={"org": "acme"}), "scope.org: there is no such field; there"),
        (
            lambda: memory_calls.forget("sch_1", scope="a:b", whole_scope=True),
            "memory_id and whole_scope: only one of memory_id, selection, whole_scope",
        ),
        (lambda: memory("fact", 5), "content: takes text; not a int"),  # type: ignore[arg-type]
        (lambda: turn(WHEN), "content: takes text; not a datetime"),  # type: ignore[arg-type]
        (lambda: procedure("how", [WHEN]), r"steps\[0\]: takes a mapping; not a datetime"),  # type: ignore[list-item]
        (lambda: memory_calls.pause_persistence(scope="a:b", duration=60), "duration: takes a timedelta; not a int"),  # type: ignore[arg-type]
        (lambda: memory("fact", "x", occurred_at="2024-01-01"), "occurred_at: takes a datetime; not a string"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_with_what_would(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_moments_go_as_datetimes() -> None:
    assert memory("fact", "x", occurred_at=WHEN).occurred_at.ToDatetime(UTC) == WHEN
    assert turn("x", timestamp=WHEN).timestamp == "2024-03-10T01:00:00+00:00"
    assert turn("x", timestamp="yesterday").timestamp == "yesterday"
    length = timedelta(minutes=5, milliseconds=1)
    assert memory_calls.pause_persistence(scope="a:b", duration=length).request.duration.ToTimedelta() == length


def test_answers_read_as_words() -> None:
    done = session_pb2.CommitResponse(state=session_pb2.SESSION_STATE_COMMITTED, outcome=99)  # type: ignore[arg-type]
    assert name_of(done, "state") == "committed"
    assert name_of(done, "feedback_status") == ""
    assert name_of(done, "outcome") == "99"
    hit = recall_pb2.Hit(found_by=[common_pb2.TIER_ACTIVE, common_pb2.TIER_DEEP])
    assert names_of(hit, "found_by") == ["active", "deep"]
    for field in ("found_by", "content", "nothing"):
        with pytest.raises(ValueError, match="has no enum field"):
            name_of(hit, field)
