"""Open gates: the inbox, claims, and several verdicts at once."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from daemon.contract.base import Request, Response, example
from daemon.contract.runs import Escalated, Gate, Mode, Proposal, ResumeRun, Run, Verdict
from daemon.contract.templates import Effect, Kind

VERDICTS_MAX = 100
WhyNot = Annotated[
    str, Field(json_schema_extra={"enum": ["role", "group", "function", "four_eyes", "machine", "already_decided"]})
]


class EarlierCall(Response):
    """Another call that the agent wanted to make in the same context, and what came of it."""

    id: str
    tool: str
    server: str | None = None
    decision: str
    status: str
    outcome: str | None = None
    created_at: datetime


class OpenGate(Response):
    """A gate that waits for a human, and whether the caller may decide.

    `solo` where the caller is the company's only person and decides alone. A claim says who looks
    at it, and binds nobody.
    """

    run_id: str
    vertical: str
    title: str
    business_key: str | None = None
    gate: Gate
    can_decide: bool
    why_not: WhyNot | None = None
    for_another: bool = Field(
        default=False, description="The caller decides in the place of another alone: `on_behalf_of` names whom."
    )
    due_at: datetime | None = None
    clock_due_at: datetime | None = None
    escalation: Escalated | None = None
    verdicts: tuple[Verdict, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    solo: bool = False
    four_eyes_open: bool = Field(
        default=False, description="Who started the run is to be kept out, and nobody knows for whom its key acts."
    )
    claimed_by: str | None = None
    claimed_at: datetime | None = None
    earlier: tuple[EarlierCall, ...] = Field(
        (), description="At an action: what its agent wanted before in this context, newest first."
    )


class OpenGateDetail(OpenGate):
    """An open gate that is read alone, and who may decide there now.

    Those who are barred, whom the run is about, or whose verdict counts already are not among them.
    """

    deciders: tuple[str, ...] = Field(
        (), description="E-mail addresses of the first of those who may, in their own right; the least roles first."
    )
    deciders_count: int = Field(0, description="How many they are, those that are not listed too.")


class PreviewStep(Response):
    """A step that runs, or may run where that is not `certain`."""

    step_id: str
    label: str
    kind: Kind
    tool: str | None = None
    effect: Effect | None = None
    mode: Mode | None = None
    certain: bool


class DecisionPreview(Response):
    """The steps, next gates and outcomes that a decision can lead to, up to the next human."""

    decision: str
    steps: tuple[PreviewStep, ...] = ()
    gates: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()


class GatePreview(Response):
    """What each decision at a gate leads to."""

    decisions: tuple[DecisionPreview, ...]


class AskQuestion(Request):
    """What the agent of an action is asked before somebody decides."""

    model_config = example({"to": "agent", "text": "Which of the two charges?"})

    to: Literal["agent"]
    text: Annotated[str, Field(min_length=1, max_length=2_000)]


class QuestionAnswer(Request):
    """What the agent answers."""

    model_config = example({"text": "The second: it was booked twice."})

    text: Annotated[str, Field(min_length=1, max_length=8_000)]


class RunVerdict(ResumeRun):
    """A verdict at a gate of a run. Without the digest of what was seen it is refused (422)."""

    run_id: str


class RunVerdicts(Request):
    """Verdicts, each decided as if it came alone."""

    model_config = example(
        {
            "verdicts": [
                {
                    "run_id": "0199a3c2-0000-7000-8000-000000000001",
                    "gate": "signoff",
                    "decision": "approved",
                    "digest": "sha256:4c1f",
                }
            ]
        }
    )

    verdicts: list[dict[str, Any]] = Field(
        min_length=1, max_length=VERDICTS_MAX, description="Each a `RunVerdict`; one that is wrong refuses itself."
    )


class VerdictResult(Response):
    """What came of a verdict: the run, or a problem."""

    run_id: str | None = None
    gate: str | None = None
    status: int
    run: Run | None = None
    problem: dict[str, Any] | None = None


class VerdictResults(Response):
    """One result for each verdict, in order."""

    results: tuple[VerdictResult, ...]
