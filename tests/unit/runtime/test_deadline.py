"""How long a call may take."""

from __future__ import annotations

import pytest

from remembrancer.runtime.deadline import UNBOUNDED, bind, remaining, unbind


class Context:
    """A servicer context as far as deadlines go."""

    def __init__(self, left: float | None) -> None:
        self.left = left

    def time_remaining(self) -> float | None:
        return self.left


@pytest.mark.parametrize("left", [99_999_999 * 3600.0, float("inf"), None])
def test_t17_a_far_deadline_counts_as_one_that_grpc_can_pass_on(left: float | None) -> None:
    assert remaining(Context(left)) == UNBOUNDED


def test_the_nearer_end_counts() -> None:
    token = bind(2.0)
    try:
        assert 1.0 < remaining(Context(99.0)) <= 2.0
        assert remaining(Context(0.5)) == 0.5
        assert remaining(Context(-1.0)) == 0.0
    finally:
        unbind(token)
