"""Scopes and texts of requests: what is the same, what is refused."""

from __future__ import annotations

import pytest

from remembrancer.model.errors import InvalidField
from remembrancer.model.scope import canonical_path, look_alike, parse_scope
from remembrancer.model.text import is_blank, require, trimmed
from remembrancer.store.keys import partition_of
from remembrancer.v1.common_pb2 import Scope, TenantScope


@pytest.mark.parametrize(
    "raw", [" user:ana", "user:ana\n", "\u3000user:ana\u200b", "\ufeffuser:ana", "user:ana\u2060 "]
)
def test_s4_surrounding_white_space_and_zero_width_do_not_matter(raw: str) -> None:
    assert canonical_path(raw) == "user:ana"


def test_composed_and_decomposed_letters_are_the_same_scope() -> None:
    assert canonical_path("user:Zoe\u0308") == canonical_path("user:Zo\u00eb")


@pytest.mark.parametrize(
    "path", ["user:a:b", "project:my-repo.v2 {x}", "a:/etc/*?[]", "k: inner  space ", "k:日本", "k:🏴󠁧󠁢󠁥󠁮󠁧󠁿", "x:AND OR"]
)
def test_p53_d9_an_id_may_hold_nearly_anything(path: str) -> None:
    assert canonical_path(path) == path.strip()


@pytest.mark.parametrize(
    "path",
    [
        "",
        "  ",
        "\u200b",
        "alice",
        ":x",
        "x:",
        "x: ",
        " :x",
        "x:\u200b\u3164",
        "u:a\x07b",
        "u:a\x07",
        "u:a\x00",
        "u:a\tb",
    ],
)
def test_a1_p53_what_is_no_scope_is_refused(path: str) -> None:
    with pytest.raises(InvalidField) as refused:
        parse_scope(Scope(path=path))
    assert refused.value.violations[0].field == "scope"


def test_the_length_is_in_characters_after_trimming() -> None:
    longest = "u:" + "猫" * 254
    assert canonical_path(f"  {longest}  ") == longest
    with pytest.raises(InvalidField):
        canonical_path(longest + "猫")
    assert parse_scope(Scope(tenant=TenantScope(org_id="x" * 252))).path == "org:" + "x" * 252
    for too_long in ("x" * 253, "\u200b", "a\x07", ""):
        with pytest.raises(InvalidField) as refused:
            parse_scope(Scope(tenant=TenantScope(org_id=too_long)))
        assert refused.value.violations[0].field == "scope.tenant.org_id"


def test_case_hyphen_and_underscore_make_other_scopes_that_look_alike() -> None:
    one, other = "project:my-repo", "Project:My_Repo"
    assert partition_of(canonical_path(one)) != partition_of(canonical_path(other))
    assert look_alike(one) == look_alike(other)


@pytest.mark.parametrize("text", ["", "   ", "\u3000", "\u200b", "\x1f", "\x00", "\u3164", "\ufe0f", "\u2060\u115f \n"])
def test_d1_d22_s1_blank_is_what_shows_nothing(text: str) -> None:
    assert is_blank(text)
    with pytest.raises(InvalidField):
        require("query", text, 10)


@pytest.mark.parametrize("text", ["x", "🍸", "👩‍👩‍👧‍👦", "🇯🇵", ".", "*", "م", "a\x00b", "<s>"])
def test_what_shows_something_is_not_blank_and_keeps_its_inside(text: str) -> None:
    assert not is_blank(text)
    assert trimmed(f" \u200b{text}\n") == text


@pytest.mark.parametrize("text", ["🏴󠁧󠁢󠁥󠁮󠁧󠁿", "❤️", "👩‍👩‍👧‍👦"])
def test_trimming_leaves_emoji_whole(text: str) -> None:
    assert trimmed(text) == text


def test_p45_lengths_are_code_points_and_the_limit_is_allowed() -> None:
    assert require("query", "🍸" * 4096, 4096)
    with pytest.raises(InvalidField):
        require("query", "🍸" * 4097, 4096)
