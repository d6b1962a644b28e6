import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records import DAY, NOW
from workers.deep import weights


@given(st.integers(1, 2000), st.integers(0, 5000))
def test_an_entity_says_less_the_more_records_mention_it(mentions: int, others: int) -> None:
    records = mentions + others
    said = weights.specificity(mentions, records)
    assert 0.0 <= said <= 1.0
    assert weights.specificity(mentions + 1, records + 1) <= said


def test_an_entity_of_two_records_leads_on_and_a_speaker_name_does_not() -> None:
    assert weights.specificity(2, 60) > 0.9
    assert weights.specificity(2, 2) > 0.6
    assert weights.specificity(30, 60) == weights.specificity(20, 60) == 0.0
    assert weights.specificity(0, 60) == 0.0


def test_one_use_together_counts_half_after_seven_days() -> None:
    def uses(days: float) -> float:
        passed = weights.used_together([NOW - days * DAY], NOW) / weights.USED_TOGETHER
        return passed / (1.0 - passed)

    assert uses(0) == pytest.approx(1.0)
    assert uses(7) == pytest.approx(0.5)
    assert uses(14) == pytest.approx(0.25)
    assert uses(-30) == pytest.approx(1.0)


@given(st.lists(st.floats(NOW - 1000 * DAY, NOW + DAY), min_size=1, max_size=40))
def test_more_uses_together_pass_on_more_but_never_above_the_bound(times: list[float]) -> None:
    passed = weights.used_together(times, NOW)
    assert 0.0 <= passed < weights.USED_TOGETHER
    assert weights.used_together([*times, float(NOW)], NOW) > passed
