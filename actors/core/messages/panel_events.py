"""Events of panels: what judges are asked, what they said, and what came of it."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from actors.core.autonomy.weighing import ClearanceDecision
from actors.core.calls import Request
from actors.core.messages.events import EventBase
from actors.core.messages.votes import JudgeCall, Vote


class PanelEvent(EventBase, frozen=True, kw_only=True):
    """An event of the panel at a visit; `digest` is that of what it is asked about."""

    digest: str
    step_id: str
    visit: int


class PanelAsked(PanelEvent, frozen=True, kw_only=True, tag="panel_asked"):
    """The judges of a step are asked about its prepared call.

    Rules have answered in `votes`, and so has each tool that cannot be asked. `calls` ask the
    others.
    """

    calls: tuple[JudgeCall, ...] = ()
    quorum: int
    request: Request
    votes: tuple[Vote, ...] = ()


class JudgeAnswered(PanelEvent, frozen=True, kw_only=True, tag="judge_answered"):
    """A judge that was called has answered, or has not."""

    attempts: int = 0
    vote: Vote


class PanelDecided(PanelEvent, frozen=True, kw_only=True, tag="panel_decided"):
    """All judges were heard: `clear` of them clear the step, and `quorum` are needed.

    With the quorum, `confidence` is its raw confidence, and `weighed` what that was weighed on.
    """

    clear: int
    confidence: float | UnsetType = UNSET
    quorum: int
    weighed: ClearanceDecision | UnsetType = UNSET
