"""Calibration: the curve is the isotonic regression, and its bound promises less."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest

from actors.core.autonomy import CASES_MIN, NO_RECORD, RECENT, WINDOW, CalibrationCase, fit, lower_bound, pooled


def drawn(seed: int, number: int) -> list[CalibrationCase]:
    random = Random(seed)
    grains = random.choice((3, 10, 1_000))
    return [
        CalibrationCase(random.randrange(grains) / grains, random.random() < random.random()) for _ in range(number)
    ]


def isotonic(cases: Sequence[CalibrationCase], raw: float) -> Fraction:
    """By its formula: the least mean from here up, at the best place to begin from below."""
    raws = sorted({one.raw for one in cases})

    def mean(low: float, high: float) -> Fraction:
        within = [one.approved for one in cases if low <= one.raw <= high]
        return Fraction(sum(within), len(within))

    return max(min(mean(low, high) for high in raws if high >= raw) for low in raws if low <= raw)


@pytest.mark.parametrize("seed", range(12))
def test_the_estimate_is_the_isotonic_regression(seed: int) -> None:
    cases = drawn(seed, 60)
    pools = pooled(cases)
    for one in cases:
        pool = [each for each in pools if each.raw <= one.raw][-1]
        assert Fraction(pool.approved, pool.cases) == isotonic(cases, one.raw)


@pytest.mark.parametrize("seed", range(6))
def test_estimate_and_bound_never_fall_and_the_bound_is_below(seed: int) -> None:
    curve = fit(drawn(seed, 300)).curve
    assert list(curve) == sorted(curve, key=lambda one: (one.raw, one.estimate, one.lower))
    assert [one.lower for one in curve] == sorted(one.lower for one in curve)
    assert all(one.lower <= one.estimate for one in curve)


def test_below_the_minimum_there_is_no_curve() -> None:
    assert fit(()) == NO_RECORD
    few = fit([CalibrationCase(0.5, approved=True)] * (CASES_MIN - 1))
    assert (few.cases, few.agreed, few.curve, few.at(1.0)) == (49, 49, (), None)
    enough = fit([CalibrationCase(0.5, approved=True)] * CASES_MIN)
    assert [(one.raw, one.estimate) for one in enough.curve] == [(0.5, 1)]
    assert enough.curve[0].lower == lower_bound(CASES_MIN, CASES_MIN)
    assert (enough.at(0.49), enough.at(0.5), enough.at(1.0)) == (None, *enough.curve, *enough.curve)


def test_only_the_newest_cases_count() -> None:
    before, after = [CalibrationCase(0.5, approved=False)] * 100, drawn(1, WINDOW)
    assert fit(before + after) == fit(after)


def test_the_newest_cases_take_back_what_the_older_ones_earned() -> None:
    earned = [CalibrationCase(0.9, approved=True)] * 300
    assert fit(earned).curve[0].lower > 0.98
    lately = [*earned, *([CalibrationCase(0.9, approved=False)] * 2)]
    assert fit(lately).curve[0].lower == (RECENT - 2) / RECENT
    below = [*earned, *([CalibrationCase(0.1, approved=False)] * 20)]
    assert fit(below).curve[-1].lower > 0.98, "what was less sure says nothing of what is surer"
