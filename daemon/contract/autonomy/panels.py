"""Panels: what the judges of a step said, and what their decision was weighed on."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from daemon.contract.base import Response, example

WHY = ("calibrated", "learned", "sampled", "off", "few_cases", "below_floor")
_VOTE = {"judge": "small", "label": "Small amount", "verdict": "clear", "confidence": 0.9, "reason": None}


class Vote(Response):
    """What one judge said; one that gave no clear answer flags, without a confidence."""

    model_config = example(_VOTE)

    judge: str
    label: str
    verdict: Annotated[str, Field(json_schema_extra={"enum": ["clear", "flag"]})]
    confidence: float | None = None
    reason: str | None = None


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
