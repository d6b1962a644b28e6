from hypothesis import given
from hypothesis import strategies as st

from workers.deep.members import Members


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12))))
def test_a_group_is_the_sorted_set_of_what_was_added_and_not_discarded(steps: list[tuple[bool, int]]) -> None:
    members, expected = Members(), set[int]()
    for add, n in steps:
        (members.add if add else members.discard)("key", n)
        (expected.add if add else expected.discard)(n)
    assert list(members.of("key")) == sorted(expected)
    assert list(members.of("other key")) == []


def test_around_goes_outwards_and_leaves_the_centre_out() -> None:
    members = Members()
    for n in (1, 3, 5, 7, 9):
        members.add("key", n)
    assert list(members.around("key", 5, 1)) == [3, 7]
    assert list(members.around("key", 5, 9)) == [3, 7, 1, 9]
    assert list(members.around("key", 1, 2)) == [3, 5]
    assert list(members.around("key", 9, 1)) == [7]


def test_around_a_record_that_is_no_member_starts_where_it_would_stand() -> None:
    members = Members()
    for n in (1, 3):
        members.add("key", n)
    assert list(members.around("key", 2, 1)) == [1, 3]
