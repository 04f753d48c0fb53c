"""What is cleared on the word of biased judges is wrong no more often than the floor allows."""

from __future__ import annotations

import pytest

from tests.calibration.judges import JUDGES, clear_all

VISITS = 500


@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_of_known_bias_is_cleared_within_the_bound(name: str) -> None:
    found = clear_all(JUDGES[name], 0.7, 1, visits=VISITS)
    assert not found.beyond(0.3)


def test_a_good_judge_is_cleared_often_and_one_that_is_wrong_hardly_ever() -> None:
    assert clear_all(JUDGES["good"], 0.7, 1, visits=VISITS).cleared > VISITS / 2
    assert clear_all(JUDGES["uninformed"], 0.95, 1, visits=VISITS).cleared == 0
