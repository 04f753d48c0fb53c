"""What people's decisions tell of a step: a calibration curve and numbers of agreement."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from actors.core.autonomy.intervals import lower_bound

CASES_MIN = 50
"""Fewer cases say nothing."""


class Breakpoint(Struct, frozen=True, gc=False):
    """From a raw confidence on: how often people approve, and how often at least (95 %)."""

    raw: float
    estimate: float
    lower: float


class Record(Struct, frozen=True, gc=False):
    """What is known of one step of one company and template version.

    A case is a visit that a panel would have cleared and a person decided. `agreed` counts those
    that were approved, of all cases; `recent` is their share of the newest 20. `curve` has the
    breakpoints by rising raw confidence.
    """

    cases: int = 0
    agreed: int = 0
    recent: float = 0.0
    curve: tuple[Breakpoint, ...] = ()

    @property
    def agreement(self) -> float | None:
        """How often people agree at least, of all cases and the newest; None of too few."""
        return min(self.recent, lower_bound(self.agreed, self.cases)) if self.cases >= CASES_MIN else None

    def at(self, raw: float) -> Breakpoint | None:
        """Where a raw confidence stands on the curve; None where too little is known."""
        if self.cases < CASES_MIN:
            return None
        place = bisect_right(self.curve, raw, key=lambda one: one.raw)
        return self.curve[place - 1] if place else None


NO_RECORD = Record()
UNRECORDED: Mapping[str, Record] = MappingProxyType({})
"""Steps of which nothing is known."""
