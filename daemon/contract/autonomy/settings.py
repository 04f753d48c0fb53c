"""What a company lets be cleared without a human."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool

from daemon.contract.base import Request, Response, example

LEARNABLE_MAX = 200
THRESHOLD_MIN, THRESHOLD_MAX = 0.5, 0.999
SAMPLE_MAX = 1_000
STEP = r"^[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$"
_EXAMPLE = {
    "auto_resolve": True,
    "confidence_floor": 0.7,
    "irreversible_floor": 0.95,
    "learnable": {"refund/refund": {"threshold": 0.95, "sample_one_in": 5}},
}

Floor = Annotated[float, Field(ge=0, le=1, strict=True)]
StepName = Annotated[str, Field(pattern=STEP, max_length=200)]


class LearnableStep(Request):
    """Above which agreement of people a step is cleared alone, and how many people still see."""

    threshold: float = Field(0.95, ge=THRESHOLD_MIN, le=THRESHOLD_MAX, strict=True)
    sample_one_in: int = Field(5, ge=1, le=SAMPLE_MAX, strict=True)


class AutonomyChange(Request):
    """Members of the settings to change; those that are left out stay as they are."""

    model_config = example(_EXAMPLE)

    auto_resolve: StrictBool = True
    confidence_floor: Floor = 0.70
    irreversible_floor: Floor = 0.95
    learnable: dict[StepName, LearnableStep] = Field(
        default_factory=dict, max_length=LEARNABLE_MAX, description="By `<vertical>/<step>`."
    )


class Learnable(Response):
    """Above which agreement of people a step is cleared alone, and how many people still see."""

    threshold: float
    sample_one_in: int


class Autonomy(Response):
    """What a company lets be cleared without a human.

    Without `auto_resolve` nothing is. A panel clears a step once people approve at least so often
    as the floor says. A step of `learnable` is also cleared once people agree with its panel above
    its own threshold.
    """

    model_config = example(_EXAMPLE)

    auto_resolve: bool
    confidence_floor: float
    irreversible_floor: float
    learnable: dict[str, Learnable]
