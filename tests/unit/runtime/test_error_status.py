from typing import Any

import pytest
from google.rpc import error_details_pb2, status_pb2
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.model import errors
from remembrancer.model.errors import FeedbackMissing, InvalidField, SessionNotFound, Violation
from remembrancer.runtime.status import DETAILS_LIMIT, reason_name, to_status
from remembrancer.v1 import errors_pb2


def found(status: status_pb2.Status, kind: Any) -> list[Any]:
    unpacked = []
    for packed in status.details:
        if packed.Is(kind.DESCRIPTOR):
            message = kind()
            packed.Unpack(message)
            unpacked.append(message)
    return unpacked


def feedback_missing(retrievals: int, ids: int, length: int) -> FeedbackMissing:
    listed = [
        errors_pb2.UncoveredRetrieval(
            retrieval_id=f"ret_{i:0{length}}", outstanding=[f"sch_{n}" for n in range(ids)], outstanding_count=ids
        )
        for i in range(retrievals)
    ]
    return FeedbackMissing("ses_1", errors_pb2.FeedbackIncomplete(retrievals=listed, total=retrievals))


def test_an_invalid_field_names_every_violation() -> None:
    status = to_status(InvalidField("query", "must not be blank", Violation("top_k", "1..50")))
    assert status.code == 3
    (info,) = found(status, error_details_pb2.ErrorInfo)
    assert (info.domain, info.reason, dict(info.metadata)) == ("remembrancer", "FIELD_INVALID", {"field": "query"})
    (bad,) = found(status, error_details_pb2.BadRequest)
    assert [(v.field, v.description) for v in bad.field_violations] == [
        ("query", "must not be blank"),
        ("top_k", "1..50"),
    ]


def test_not_found_names_the_resource() -> None:
    (resource,) = found(to_status(SessionNotFound("ses_9")), error_details_pb2.ResourceInfo)
    assert (resource.resource_type, resource.resource_name) == ("session", "ses_9")


def test_a_refused_commit_lists_its_retrievals_twice_over() -> None:
    status = to_status(feedback_missing(3, 2, 20))
    (failure,) = found(status, error_details_pb2.PreconditionFailure)
    (typed,) = found(status, errors_pb2.FeedbackIncomplete)
    assert [v.subject for v in failure.violations] == [r.retrieval_id for r in typed.retrievals]
    assert len(typed.retrievals) == 3
    assert [len(r.outstanding) for r in typed.retrievals] == [2, 2, 2]
    assert not typed.truncated


def test_a_refused_commit_says_what_to_do() -> None:
    status = to_status(feedback_missing(2, 3, 80))
    assert status.message == (
        "2 retrievals are not covered by feedback: call Feedback with coverage COMPLETE for each; one with nothing "
        f"outstanding needs only that. First: ret_{0:080} (3 not assessed). GetSession lists all"
    )
    (failure,) = found(status, error_details_pb2.PreconditionFailure)
    assert [v.description for v in failure.violations] == ["3 not assessed", "3 not assessed"]
    status = to_status(feedback_missing(1, 0, 20))
    assert status.message.startswith("1 retrieval is not covered by feedback: ")
    (failure,) = found(status, error_details_pb2.PreconditionFailure)
    assert [v.description for v in failure.violations] == ["COMPLETE not declared"]


@pytest.mark.parametrize(("retrievals", "ids", "length"), [(20, 5, 40), (20, 5, 90), (20, 5, 400), (200, 5, 60)])
def test_a_refused_commit_always_fits_and_keeps_its_counts(retrievals: int, ids: int, length: int) -> None:
    status = to_status(feedback_missing(retrievals, ids, length))
    assert status.ByteSize() <= DETAILS_LIMIT
    (typed,) = found(status, errors_pb2.FeedbackIncomplete)
    assert typed.total == retrievals
    assert typed.retrievals[0].outstanding_count == ids
    assert typed.truncated == (len(typed.retrievals) < retrievals)


def test_twenty_retrievals_of_usual_length_all_stay() -> None:
    (typed,) = found(to_status(feedback_missing(20, 5, 50)), errors_pb2.FeedbackIncomplete)
    assert len(typed.retrievals) == 20


@given(st.text(alphabet=st.characters(), max_size=20000), st.text(alphabet=st.characters(), max_size=600))
def test_any_text_fits_into_the_trailers(text: str, field: str) -> None:
    cases = [
        InvalidField(field, text, *(Violation(field, text) for _ in range(50))),
        SessionNotFound(text),
        errors.SessionEnded(text, "committed"),
        errors.StoreUnavailable(text, detail=text, **{field: text}),
    ]
    for error in cases:
        status = to_status(error)
        assert status.ByteSize() <= DETAILS_LIMIT
        assert len(found(status, error_details_pb2.ErrorInfo)) == 1
        assert len(status.message.encode()) <= 300


def _all(cls: type[errors.RemembrancerError]) -> list[type[errors.RemembrancerError]]:
    return [cls, *(c for sub in cls.__subclasses__() for c in _all(sub))]


def test_every_error_has_a_published_reason_and_a_code() -> None:
    for cls in _all(errors.RemembrancerError):
        assert reason_name(cls.reason)
        assert not reason_name(cls.reason).startswith("ERROR_REASON_")
        assert 1 <= cls.code <= 16


def test_retryable_errors_say_when() -> None:
    (retry,) = found(to_status(errors.Overloaded("full")), error_details_pb2.RetryInfo)
    assert retry.retry_delay.ToMilliseconds() == 500
