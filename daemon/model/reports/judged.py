"""Visits that panels were for clearing, and how reliable the panels were."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from actors.core.autonomy import CalibrationCase, Record, fit

BINS = 10
STEPS_MAX = 200


class JudgedStep(NamedTuple):
    """A step in one version of its template."""

    vertical: str
    step_id: str
    template_version: int


class JudgedCase(NamedTuple):
    """A visit that a person decided though its panel was for clearing."""

    at: datetime
    run_id: str
    seq: int
    visit: int
    raw: float
    why: str
    approved: bool


class Bin(NamedTuple):
    """Cases whose raw confidence is from `low` to below `high`; the last contains that, too."""

    low: float
    high: float
    cases: int
    mean_raw: float
    approved: float


class Reliability(NamedTuple):
    """How far raw confidence is from what people decide: by bin, on average, and squared."""

    bins: tuple[Bin, ...]
    calibration_error: float
    brier: float


def record_of(cases: Sequence[JudgedCase]) -> Record:
    """What is known of a step by its cases."""
    return fit([CalibrationCase(one.raw, one.approved) for one in cases])


def reliability(cases: Sequence[JudgedCase]) -> Reliability | None:
    """How reliable raw confidence was; None without a case."""
    if not cases:
        return None
    found: dict[int, list[JudgedCase]] = {}
    for one in cases:
        found.setdefault(min(int(one.raw * BINS), BINS - 1), []).append(one)
    bins = tuple(_bin(place, found[place]) for place in sorted(found))
    apart = sum(one.cases * abs(one.mean_raw - one.approved) for one in bins)
    squared = sum((one.raw - one.approved) ** 2 for one in cases)
    return Reliability(bins, apart / len(cases), squared / len(cases))


def _bin(place: int, cases: Sequence[JudgedCase]) -> Bin:
    number = len(cases)
    approved = sum(one.approved for one in cases) / number
    return Bin(place / BINS, (place + 1) / BINS, number, sum(one.raw for one in cases) / number, approved)
