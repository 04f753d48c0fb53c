"""Whether a step whose panel is for clearing may be cleared, on which numbers."""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

from msgspec import Struct

from actors.core.autonomy.records import CASES_MIN, Record
from actors.core.autonomy.settings import RAREST_SAMPLE, Autonomy, Learnable, sample_one_in

Why = Literal["calibrated", "learned", "sampled", "off", "few_cases", "below_floor"]
HASH_BYTES = 8


class PanelVerdict(Struct, frozen=True, gc=False):
    """A visit whose panel is for clearing, with its raw confidence and the template's version."""

    run_id: str
    vertical: str
    step_id: str
    visit: int
    effect: str | None
    raw: float
    version: int = 1

    def sampled(self, one_in: int) -> bool:
        """Whether it is one that people see all the same: the same answer each time."""
        found = sha256(f"{self.run_id}:{self.step_id}:{self.visit}".encode()).digest()
        return int.from_bytes(found[:HASH_BYTES]) % one_in == 0


class ClearanceDecision(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """Whether a visit is cleared, why, and the numbers that it stood on.

    `calibrated` is how often people approve at that raw confidence, `lower` how often at least;
    None where too little is known. `agreement` is how often they agree at least, over all `cases`
    and over the newest. `threshold` is what the company asks of a step that may learn. All of that
    is about one `version` of the template.
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


def decide_clearance(autonomy: Autonomy, record: Record, heard: PanelVerdict) -> ClearanceDecision:
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
    )


def _threshold(learning: Learnable, autonomy: Autonomy, heard: PanelVerdict) -> float:
    """What the step has to reach; an irreversible one the company's floor for those, too."""
    return max(learning.threshold, autonomy.irreversible_floor if heard.effect == "irreversible" else 0.0)


def _digits(share: float | None) -> str:
    return "an unknown share" if share is None else f"{share:.3f}"
