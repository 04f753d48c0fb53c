"""How far a company lets panels clear steps: its settings, the records, and the decision."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from math import sqrt
from types import MappingProxyType
from typing import Any, Literal, Protocol

from msgspec import Struct, field

SAMPLE_ONE_IN = 5
"""Of the steps that may learn, one in so many goes to a human though it would be cleared."""
RAREST_SAMPLE, MOST_SAMPLED = 20, 2


def sample_one_in(floor: float) -> int:
    """Of the other steps that would be cleared, one in how many goes to a human all the same.

    Between two samples no more are cleared than may be wrong in a hundred, by that floor: so a
    panel that becomes worse is noticed before its errors weigh as much as is allowed.
    """
    return max(MOST_SAMPLED, min(RAREST_SAMPLE, round(100 * (1 - floor))))


class LearnableTerms(Struct, frozen=True):
    """A step that may earn autonomy: above which agreement, and how many of it people still see."""

    threshold: float = 0.95
    sample_one_in: int = SAMPLE_ONE_IN


class CompanyAutonomy(Struct, frozen=True):
    """Whether anything is cleared at all, how sure a panel has to be, and which steps may learn.

    `learnable` is by `<vertical>/<step>`.
    """

    auto_resolve: bool = True
    confidence_floor: float = 0.70
    irreversible_floor: float = 0.95
    learnable: Mapping[str, LearnableTerms] = field(default_factory=dict)

    def floor(self, effect: str | None) -> float:
        """How sure a panel has to be; an irreversible step has the higher of both floors."""
        floor = self.confidence_floor
        return max(floor, self.irreversible_floor) if effect == "irreversible" else floor

    def learning(self, vertical: str, step_id: str) -> LearnableTerms | None:
        """What the company asks of that step, if it may learn."""
        return self.learnable.get(f"{vertical}/{step_id}")


class CallCondition(Protocol):
    """A yes-or-no question about a run's inputs and facts, and the call that a step would make."""

    @property
    def text(self) -> str:
        """The expression as its author wrote it."""

    def holds(self, inputs: dict[str, Any], facts: dict[str, Any], call: dict[str, Any]) -> bool:
        """Answer the question; raise ConditionFailed when there is no clear yes or no."""


class Judge(Struct, frozen=True):
    """A rule, or a tool that is asked; `confidence` is how sure a rule is where it clears."""

    id: str
    label: str
    rule: CallCondition | None = None
    tool: str | None = None
    confidence: float = 1.0


class PanelRule(Struct, frozen=True):
    """The judges of a step; `quorum` of them have to clear it."""

    judges: tuple[Judge, ...]
    quorum: int


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


def record_key(step_id: str, about: str) -> str:
    """What the record of a step is known by: cases about something else are none of it."""
    return f"{step_id} {about}" if about else step_id


NO_RECORD = Record()
UNRECORDED: Mapping[str, Record] = MappingProxyType({})
"""Steps of which nothing is known."""


Z = 1.96
"""The two-sided 95 % quantile of the normal distribution."""


def lower_bound(hits: int, of: int, z: float = Z) -> float:
    """The lower end of Wilson's interval for a share; 0 of nothing."""
    if of == 0:
        return 0.0
    share, square = hits / of, z * z
    spread = z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, (share + square / (2 * of) - spread) / (1 + square / of))


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


Why = Literal["calibrated", "learned", "sampled", "off", "few_cases", "below_floor"]
HASH_BYTES = 8


class PanelVerdict(Struct, frozen=True, gc=False):
    """A visit whose panel is for clearing, with its raw confidence and the template's version.

    `about` is what its record is about beside the step: the tool and the models, as JSON.
    """

    run_id: str
    vertical: str
    step_id: str
    visit: int
    effect: str | None
    raw: float
    version: int = 1
    about: str = ""

    def sampled(self, one_in: int) -> bool:
        """Whether it is one that people see all the same: the same answer each time."""
        found = sha256(f"{self.run_id}:{self.step_id}:{self.visit}".encode()).digest()
        return int.from_bytes(found[:HASH_BYTES]) % one_in == 0


class ClearanceDecision(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """Whether a visit is cleared, why, and the numbers that it stood on.

    `calibrated` is how often people approve at that raw confidence, `lower` how often at least;
    None where too little is known. `agreement` is how often they agree at least, over all `cases`
    and over the newest. `threshold` is what the company asks of a step that may learn. All of that
    is about one `version` of the template, and `about` a tool and models where those are known.
    """

    clears: bool
    why: Why
    raw: float
    floor: float
    cases: int = 0
    agreed: int = 0
    calibrated: float | None = None
    lower: float | None = None
    agreement: float | None = None
    threshold: float | None = None
    sample_one_in: int = RAREST_SAMPLE
    version: int = 1
    about: str = ""

    @property
    def reason(self) -> str:
        """The same in a sentence."""
        return _REASONS[self.why].format(one=self, lower=_digits(self.lower), agreement=_digits(self.agreement))


_REASONS: dict[Why, str] = {
    "calibrated": "people approve at least {lower} of such cases (95 %, {one.cases} cases), above {one.floor}",
    "learned": "people agreed in {one.agreed} of {one.cases} cases, at least {agreement} (95 %), above {one.threshold}",
    "sampled": "one in {one.sample_one_in} of the steps that would be cleared goes to a human",
    "off": "every step of this company waits for a human",
    "few_cases": "people have decided {one.cases} such cases of the " + f"{CASES_MIN} that are needed",
    "below_floor": "people approve at least {lower} of such cases (95 %, {one.cases} cases), not {one.floor}",
}


def decide_clearance(autonomy: CompanyAutonomy, record: Record, heard: PanelVerdict) -> ClearanceDecision:
    """Weigh a visit whose panel is for clearing; whatever is not certain waits for a human.

    The lower bound has to reach the floor. A step that may learn is cleared without that, once
    people agree often enough.
    """
    learning = autonomy.learning(heard.vertical, heard.step_id)
    floor, at, known = autonomy.floor(heard.effect), record.at(heard.raw), record.cases >= CASES_MIN
    agreement = record.agreement
    threshold = None if learning is None else _threshold(learning, autonomy, heard)
    calibrated = at is not None and at.lower > floor
    learned = agreement is not None and threshold is not None and agreement > threshold
    one_in = sample_one_in(floor) if learning is None else learning.sample_one_in
    why: Why
    if not autonomy.auto_resolve:
        why = "off"
    elif not known:
        why = "few_cases"
    elif not calibrated and not learned:
        why = "below_floor"
    elif heard.sampled(one_in):
        why = "sampled"
    else:
        why = "calibrated" if calibrated else "learned"
    return ClearanceDecision(
        clears=why in ("calibrated", "learned"),
        why=why,
        raw=heard.raw,
        floor=floor,
        cases=record.cases,
        agreed=record.agreed,
        calibrated=None if at is None else at.estimate,
        lower=None if at is None else at.lower,
        agreement=agreement,
        threshold=threshold,
        sample_one_in=one_in,
        version=heard.version,
        about=heard.about,
    )


def _threshold(learning: LearnableTerms, autonomy: CompanyAutonomy, heard: PanelVerdict) -> float:
    """What the step has to reach; an irreversible one the company's floor for those, too."""
    return max(learning.threshold, autonomy.irreversible_floor if heard.effect == "irreversible" else 0.0)


def _digits(share: float | None) -> str:
    return "an unknown share" if share is None else f"{share:.3f}"
