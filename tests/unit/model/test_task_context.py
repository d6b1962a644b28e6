"""Rules of the task context."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import json_format, struct_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.model.errors import InvalidField
from remembrancer.model.task_context import LENGTH, check_context, cue, merge, to_json, to_struct


def struct(value: dict[str, Any]) -> struct_pb2.Struct:
    return json_format.ParseDict(value, struct_pb2.Struct())


def nested(depth: int) -> dict[str, Any]:
    return {"k": nested(depth - 1)} if depth > 1 else {"k": "v"}


def refused(value: dict[str, Any]) -> str:
    with pytest.raises(InvalidField) as error:
        check_context(struct(value))
    return error.value.violations[0].field


def test_keys_are_trimmed_and_lower_cased() -> None:
    assert check_context(struct({" Build.Target ": "x", "Inner": {"KEY-1:a_b": 1}})) == {
        "build.target": "x",
        "inner": {"key-1:a_b": 1},
    }


@pytest.mark.parametrize("key", ["1x", "", "_x", "a b", "ä", "x" * 65, "a/b"])
def test_s30_bad_keys_are_named(key: str) -> None:
    assert refused({"ok": {key: 1}}).startswith("task_context.ok.")


def test_keys_that_become_the_same_are_refused() -> None:
    assert refused({"Lang": "a", "lang": "b"}) == "task_context.lang"


def test_s30_null_is_refused_wherever_it_stands() -> None:
    assert refused({"a": None}) == "task_context.a"
    assert refused({"a": [{"b": None}]}) == "task_context.a[0].b"


def test_s30_depth_eight_is_the_most() -> None:
    assert check_context(struct(nested(8))) == nested(8)
    assert refused(nested(9)).startswith("task_context.k.k")
    assert refused({"a": [[[[[[[[1]]]]]]]]}).startswith("task_context.a")


def test_s30_length_counts_code_points_of_json_after_merging_too() -> None:
    fits = LENGTH - len('{"a":""}')
    assert check_context(struct({"a": "ü" * fits}))
    assert refused({"a": "ü" * (fits + 1)}) == "task_context"
    with pytest.raises(InvalidField):
        merge({"a": "x" * fits}, {"b": "y"})


def test_whole_numbers_count_as_they_are_written() -> None:
    assert (
        to_json(check_context(struct({"a": 1, "b": 2.5, "c": -3, "d": 1e300}))) == '{"a":1,"b":2.5,"c":-3,"d":1e+300}'
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_are_finite(number: float) -> None:
    context = struct_pb2.Struct(fields={"a": struct_pb2.Value(number_value=number)})
    with pytest.raises(InvalidField) as error:
        check_context(context)
    assert error.value.violations[0].field == "task_context.a"


def test_s30_a_merge_is_shallow() -> None:
    base = {"a": 1, "deep": {"x": 1, "y": 2}}
    assert merge(base, {"b": 2, "deep": {"z": 3}}) == {"a": 1, "b": 2, "deep": {"z": 3}}
    assert base == {"a": 1, "deep": {"x": 1, "y": 2}}


def test_the_cue_is_made_of_texts_in_a_fixed_order() -> None:
    assert cue({"b": ["two", 3, {"x": "three"}], "a": "one", "c": True, "d": " "}) == "one\ntwo\nthree"
    assert cue({"a": 1}) == ""


KEYS = st.text("abcxyz", min_size=1, max_size=3)
VALUES = st.recursive(
    st.one_of(
        st.booleans(), st.integers(-(2**53) + 1, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner)),
    max_leaves=6,
)


@settings(max_examples=40)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_what_was_checked_survives_storing(value: dict[str, Any]) -> None:
    try:
        checked = check_context(struct(value))
    except InvalidField:
        return
    assert check_context(to_struct(json.loads(to_json(checked)))) == checked
