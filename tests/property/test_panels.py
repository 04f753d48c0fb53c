"""No outcome of a panel clears a step that a human has to see, nor one below its floor."""

from __future__ import annotations

from tests.property.panels import TALLY, outcome


def test_no_random_outcome_of_a_panel_clears_what_it_may_not() -> None:
    for seed in range(150):
        outcome(seed)
    assert TALLY["medium cleared"] > 5
    assert TALLY["high parked"] + TALLY["critical parked"] > 20
