"""What people's decisions tell of the steps that panels hear."""

from __future__ import annotations

from pydantic import Field

from daemon.contract.base import Response, example

_STEP = {
    "vertical": "refund",
    "step_id": "refund",
    "template_version": 1,
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
