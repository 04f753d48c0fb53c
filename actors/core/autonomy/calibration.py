"""Counts what is known of a step from its cases: isotonic regression, and a lower bound.

Pool-adjacent-violators: the best curve that never falls as the raw confidence rises. Its estimate
alone would promise too much, since it fits its own sample. So a group of cases answers for each
confidence: all that are at least as sure, and no fewer than the surer half. The lower Wilson bound
of its approvals counts, and what people said of its newest 20, which notice first when a panel
becomes worse.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence

from msgspec import Struct

from actors.core.autonomy.intervals import lower_bound
from actors.core.autonomy.records import CASES_MIN, Breakpoint, Record

WINDOW = 500
"""So many of the newest cases count."""
RECENT = 20


class CalibrationCase(Struct, frozen=True, gc=False):
    """A visit that a panel would have cleared, and whether a person approved it."""

    raw: float
    approved: bool


class _Pool:
    """Neighbouring cases with one estimate, which begins at a raw confidence."""

    __slots__ = ("approved", "cases", "raw")

    def __init__(self, raw: float, cases: int, approved: int) -> None:
        self.raw, self.cases, self.approved = raw, cases, approved


def fit(cases: Sequence[CalibrationCase]) -> Record:
    """What these cases, oldest first, tell of their step; all but the newest are left out."""
    newest = cases[-WINDOW:]
    agreed = sum(one.approved for one in newest)
    if len(newest) < CASES_MIN:
        return Record(len(newest), agreed)
    recent = sum(one.approved for one in newest[-RECENT:]) / RECENT
    return Record(len(newest), agreed, recent, tuple(_curve(newest)))


def _curve(cases: Sequence[CalibrationCase]) -> Iterator[Breakpoint]:
    """The breakpoints of estimate and bound, by rising raw confidence."""
    pools, place, last = pooled(cases), 0, (-1.0, -1.0)
    for raw, bound in sorted(_bounds(cases).items()):
        while place + 1 < len(pools) and pools[place + 1].raw <= raw:
            place += 1
        estimate = pools[place].approved / pools[place].cases
        found = (estimate, min(estimate, bound))
        if found != last:
            yield Breakpoint(raw, *found)
            last = found


def pooled(cases: Sequence[CalibrationCase]) -> list[_Pool]:
    """Pool-adjacent-violators: pools by rising raw confidence whose shares rise, too."""
    pools: list[_Pool] = []
    for one in sorted(cases, key=lambda case: case.raw):
        pool = _Pool(one.raw, 1, one.approved)
        if pools and pools[-1].raw == pool.raw:
            pool = _joined(pools.pop(), pool)
        pools.append(pool)
    settled: list[_Pool] = []
    for pool in pools:
        while settled and settled[-1].approved * pool.cases >= pool.approved * settled[-1].cases:
            pool = _joined(settled.pop(), pool)  # noqa: PLW2901 - it grows by what it violates
        settled.append(pool)
    return settled


def _joined(lower: _Pool, upper: _Pool) -> _Pool:
    return _Pool(lower.raw, lower.cases + upper.cases, lower.approved + upper.approved)


def _bounds(cases: Sequence[CalibrationCase]) -> dict[float, float]:
    """How often people approve at least, by raw confidence; never more where it is lower."""
    by_raw: dict[float, list[int]] = {}
    for place, one in enumerate(cases):
        by_raw.setdefault(one.raw, []).append(place)
    found: dict[float, float] = {}
    group: list[int] = []
    approved, bound = 0, 1.0
    small: list[float] = []
    least = max(CASES_MIN, len(cases) // 2)
    for raw in sorted(by_raw, reverse=True):
        for place in by_raw[raw]:
            insort(group, place)
            approved += cases[place].approved
        if len(group) < least:
            small.append(raw)
            continue
        recent = sum(cases[place].approved for place in group[-RECENT:]) / RECENT
        bound = min(bound, recent, lower_bound(approved, len(group)))
        found[raw] = bound
        found.update(dict.fromkeys(small, bound))
        small = []
    return found
