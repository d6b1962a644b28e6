"""Names of keys: other parts make another name, however the parts are cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.model.scope import canonical_path
from remembrancer.store.keys import PartitionKeys, digest, partition_of

KEYS = PartitionKeys(partition_of("test:keys"))
PARTS = st.lists(st.text(alphabet="ab\x00:", max_size=3), min_size=1, max_size=3)


def test_t25_parts_that_are_one_text_together_make_other_names() -> None:
    cuts = [("a", "bc"), ("ab", "c"), ("abc",), ("abc", ""), ("", "abc"), ("a", "b", "c"), ("bc", "a")]
    assert len({digest(*parts) for parts in cuts}) == len(cuts)
    for of in (KEYS.pause, KEYS.advised):
        assert of("a", "bc") != of("ab", "c")
    assert KEYS.replay("a", "R", "bc") != KEYS.replay("ab", "R", "c")
    assert KEYS.replay("caller", "Recall", "1") != KEYS.replay("caller", "Remember", "1")


@given(PARTS, PARTS)
def test_t25_names_are_equal_when_their_parts_are(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) == (one == other)


def test_t25_names_of_many_scopes_differ() -> None:
    paths = {canonical_path(f"{kind}:{n}") for kind in ("project", "Project", "org") for n in range(5000)}
    assert len({partition_of(path) for path in paths}) == len(paths) == 15_000


def test_t25_a_scope_that_looks_like_parts_is_none() -> None:
    assert partition_of("a") != digest("a")
    assert partition_of("tenant:a/b") != partition_of("tenant:a:b")
