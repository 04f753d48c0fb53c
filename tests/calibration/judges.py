"""Synthetic judges of known bias, and what comes of clearing on their word."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from actors.core.autonomy import (
    NO_RECORD,
    WINDOW,
    CalibrationCase,
    CompanyAutonomy,
    LearnableTerms,
    PanelVerdict,
    decide_clearance,
    fit,
    lower_bound,
)

ONE_SIDED = 1.645
VISITS = 2_000
COUNTED_EVERY = 10
"""The curve is counted anew after so many decisions, and after each sample; the service does so
after each decision."""
STEP = "refund/pay"


class Truth(NamedTuple):
    """What a judge says of a visit, and how likely a person approves it."""

    raw: float
    approval: float


Judge = Callable[[Random, float, float], Truth]
"""Gives a visit by randomness, its place in 0 to 1 of all visits, and the floor."""


def over_confident(random: Random, _: float, __: float) -> Truth:
    raw = random.betavariate(8, 1)
    return Truth(raw, raw**4)


def under_confident(random: Random, _: float, __: float) -> Truth:
    raw = random.betavariate(2, 2)
    return Truth(raw, 1 - (1 - raw) ** 6)


def uninformed(random: Random, _: float, floor: float) -> Truth:
    """Its confidence says nothing, and people approve a little less often than is promised."""
    return Truth(random.random(), floor - 0.02)


def near_threshold(random: Random, _: float, floor: float) -> Truth:
    """It is always as sure, and people approve right below what is promised."""
    return Truth(round(random.uniform(0.94, 0.96), 2), floor - 0.01)


def drifting(random: Random, at: float, _: float) -> Truth:
    """It becomes worse, from very good to a coin."""
    raw = random.betavariate(4, 1)
    return Truth(raw, 0.995 - 0.495 * at)


def breaking(random: Random, at: float, _: float) -> Truth:
    """Half-way it becomes a coin from one visit to the next."""
    return Truth(random.betavariate(4, 1), 0.995 if at < 0.5 else 0.5)


def good(random: Random, _: float, __: float) -> Truth:
    raw = random.betavariate(4, 1)
    return Truth(raw, 0.99)


JUDGES: dict[str, Judge] = {
    "over-confident": over_confident,
    "under-confident": under_confident,
    "uninformed": uninformed,
    "near the threshold": near_threshold,
    "drifting": drifting,
    "breaking": breaking,
    "good": good,
}


class Outcome(NamedTuple):
    """How many of the visits were cleared, and how many of those a person would have denied."""

    visits: int
    cleared: int
    wrong: int

    def beyond(self, bound: float) -> bool:
        """Whether more are wrong than the bound allows, by more than chance explains (95 %)."""
        return lower_bound(self.wrong, self.cleared, ONE_SIDED) > bound


def clear_all(judge: Judge, floor: float, seed: int, *, learns: bool = False, visits: int = VISITS) -> Outcome:
    """Let visits be weighed one after another; what is not cleared, people decide."""
    random, cases, record = Random(seed), list[CalibrationCase](), NO_RECORD
    learnable = {STEP: LearnableTerms(floor)} if learns else {}
    autonomy = CompanyAutonomy(confidence_floor=2.0 if learns else floor, learnable=learnable)
    cleared = wrong = 0
    for number in range(visits):
        truth = judge(random, number / visits, floor)
        approved = random.random() < truth.approval
        heard = PanelVerdict(f"run-{seed}-{number}", "refund", "pay", 1, None, truth.raw)
        found = decide_clearance(autonomy, record, heard)
        if found.clears:
            cleared, wrong = cleared + 1, wrong + (not approved)
            continue
        cases.append(CalibrationCase(truth.raw, approved))
        if found.why == "sampled" or len(cases) % COUNTED_EVERY == 0:
            record = fit(cases[-WINDOW:])
    return Outcome(visits, cleared, wrong)
