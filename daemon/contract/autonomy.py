"""Panels: what their judges said and decided, and how well people agree with them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from daemon.contract.base import Response, example

WHY = ("calibrated", "learned", "sampled", "off", "few_cases", "below_floor")
_VOTE = {
    "judge": "small",
    "label": "Small amount",
    "verdict": "clear",
    "confidence": 0.9,
    "reason": None,
    "model": None,
}


class Vote(Response):
    """What one judge said; one that gave no clear answer flags, without a confidence."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False, **example(_VOTE))

    judge: str
    label: str
    verdict: Annotated[str, Field(json_schema_extra={"enum": ["clear", "flag"]})]
    confidence: float | None
    reason: str | None
    model: str | None = Field(None, description="The model behind a tool that judges, if it says so.")


class Weighed(Response):
    """Whether a visit is cleared that its panel is for, why, and the numbers that it stood on.

    `calibrated` is how often people approve at the raw confidence, `lower` how often at least;
    `agreement` is how often they agree at least, over all cases.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    clears: bool
    why: Annotated[str, Field(json_schema_extra={"enum": [*WHY]})]
    raw: float
    floor: float
    cases: int = 0
    agreed: int = 0
    calibrated: float | None = None
    lower: float | None = None
    agreement: float | None = None
    threshold: float | None = None
    sample_one_in: int = 20
    about: str = Field("", description="What the record is about, as JSON: an action's tool and model, judges' models.")


class Panel(Response):
    """The panel at a visit: `quorum` of its judges have to clear it, and `clear` of them do.

    With a quorum `confidence` is the lowest of its surest votes. `waiting` are judges that have not
    answered yet.
    """

    model_config = example(
        {"quorum": 1, "clear": 1, "confidence": 0.9, "votes": [_VOTE], "waiting": [], "weighed": None}
    )

    quorum: int
    clear: int
    confidence: float | None = None
    votes: tuple[Vote, ...] = ()
    waiting: tuple[str, ...] = ()
    weighed: Weighed | None = None


class JudgeCall(Response):
    """A judge that is asked by a call."""

    judge: str
    label: str
    request: dict[str, Any]


_STEP = {
    "vertical": "refund",
    "step_id": "refund",
    "template_version": 1,
    "tool": None,
    "server": None,
    "model": None,
    "judges": {},
    "cases": 120,
    "agreed": 117,
    "agreement": 0.93,
    "cleared": 41,
    "would_clear": 88,
    "floor": 0.7,
    "curve": [{"raw": 0.6, "estimate": 0.9, "lower": 0.82}],
    "bins": [{"low": 0.6, "high": 0.7, "cases": 120, "mean_raw": 0.66, "approved": 0.975}],
    "calibration_error": 0.315,
    "brier": 0.12,
    "disagreements": [
        {"run_id": "0199a1b2-0000-7000-8000-000000000001", "visit": 1, "raw": 0.64, "at": "2026-03-02T09:00:00Z"}
    ],
}


class CurvePoint(Response):
    """From a raw confidence on: how often people approve, and how often at least (95 %)."""

    raw: float
    estimate: float
    lower: float


class ReliabilityBin(Response):
    """Cases of about the same raw confidence, and how many of them people approved."""

    low: float
    high: float
    cases: int
    mean_raw: float
    approved: float


class Disagreement(Response):
    """A visit that a panel would have cleared and a person did not approve."""

    run_id: str
    visit: int
    raw: float
    at: str


class StepCalibration(Response):
    """What is known of a step in one version of its template, by its newest cases.

    A case is a visit that the panel was for clearing and a person decided. With fewer than
    `cases_min` there is no curve. `would_clear` counts those that would be cleared as things stand,
    before samples; `cleared` those that were.
    """

    model_config = example(_STEP)

    vertical: str
    step_id: str
    template_version: int
    tool: str | None = Field(None, description="Of an action: the tool that the numbers are about.")
    server: str | None = None
    model: str | None = Field(None, description="Of an action: the model of its agent that the numbers are about.")
    judges: dict[str, str] = Field(default_factory=dict, description="The models of the judges that say theirs.")
    cases: int
    agreed: int
    agreement: float | None = Field(description="The lower bound (95 %) of people's agreement.")
    cleared: int
    would_clear: int
    floor: float = Field(description="What the lower bound of the curve has to reach.")
    curve: list[CurvePoint]
    bins: list[ReliabilityBin]
    calibration_error: float | None = Field(description="Expected calibration error of the raw confidence.")
    brier: float | None = Field(description="Brier score of the raw confidence.")
    disagreements: list[Disagreement] = Field(description="The newest 20.")


class Calibration(Response):
    """The steps that panels were for clearing, and how many cases each needs."""

    model_config = example({"cases_min": 50, "steps": [_STEP]})

    cases_min: int
    steps: list[StepCalibration]
