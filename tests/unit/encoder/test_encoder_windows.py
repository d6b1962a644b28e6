from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workers.encoder.windows import MAX_QUERY_WINDOWS, MAX_WINDOWS, OVERLAP, cut


@given(st.integers(0, 20000), st.integers(1, 512))
def test_windows_cover_the_beginning_and_the_end(length: int, size: int) -> None:
    tokens = range(length)
    windows = cut(tokens, size)
    assert 1 <= len(windows) <= MAX_WINDOWS
    assert all(len(window) <= size for window in windows)
    if length:
        assert windows[0][0] == 0
        assert windows[-1][-1] == length - 1


@given(st.integers(1, 254 * 28), st.integers(254, 512))
def test_what_32_windows_can_hold_is_covered_with_an_overlap(length: int, size: int) -> None:
    windows = cut(range(length), size)
    for left, right in pairwise(windows):
        assert right[0] <= left[-1] + 1 - size // OVERLAP + 1
    assert sum(len(w) for w in windows) >= length


def test_a_text_of_one_window_stays_whole() -> None:
    assert [list(w) for w in cut([1, 2, 3], 3)] == [[1, 2, 3]]
    assert [list(w) for w in cut(range(0), 3)] == [[]]


def test_far_more_than_32_windows_are_sampled_evenly() -> None:
    windows = cut(range(100_000), 254)
    steps = {b[0] - a[0] for a, b in pairwise(windows)}
    assert len(windows) == MAX_WINDOWS
    assert max(steps) - min(steps) <= 1


def test_a_query_has_fewer_windows_for_somebody_waits() -> None:
    windows = cut(range(4096), 254, MAX_QUERY_WINDOWS)
    assert len(windows) == MAX_QUERY_WINDOWS
    assert (windows[0][0], windows[-1][-1]) == (0, 4095)
