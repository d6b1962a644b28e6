"""What is stored is read the same way by all, damaged or not."""

from __future__ import annotations

import pytest

from remembrancer.model.ids import parse_retrieval
from remembrancer.store import decode


@pytest.mark.parametrize(("raw", "found"), [(b"0", 0), (b"17", 17), (b"9" * 18, 10**18 - 1)])
def test_a_number_is_up_to_eighteen_digits(raw: bytes, found: int) -> None:
    assert decode.number(raw) == found


@pytest.mark.parametrize("raw", [None, b"", b"-1", b"+1", b" 1", b"1_0", b"1.5", b"\xff", "\u0663".encode(), b"9" * 19])
def test_anything_else_is_none(raw: bytes | None) -> None:
    assert decode.number(raw) is None


@pytest.mark.parametrize(("raw", "found"), [(None, []), (b"", []), (b"3,1", [3, 1]), (b"3,\xff,,x,1", [3, 1])])
def test_a_damaged_number_leaves_the_others_of_its_list(raw: bytes | None, found: list[int]) -> None:
    assert decode.numbers(raw) == found


def test_a_damaged_name_names_nothing() -> None:
    assert decode.name(b"abc") == "abc"
    assert parse_retrieval(f"ret_{'a' * 26}_{'a' * 16}_{decode.name(b'a' * 15 + bytes([255]))}") is None
