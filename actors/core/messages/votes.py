"""What judges said at a visit, and what is still asked of them."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from actors.core.autonomy import ClearanceDecision
from actors.core.calls import CallRequest
from actors.core.canonical import json_size

Ballot = Literal["clear", "flag"]


class Vote(Struct, frozen=True, gc=False):
    """What one judge said, by which model if a tool says so; one that has not answered flags."""

    judge: str
    label: str
    verdict: Ballot
    confidence: float | None = None
    reason: str | None = None
    model: str | UnsetType = UNSET


class JudgeCall(Struct, frozen=True, gc=False):
    """A judge that is asked by a call."""

    judge: str
    label: str
    request: CallRequest


class Asked(Struct, frozen=True, gc=False):
    """Which judge a call asks, and the digest of what it is asked about."""

    judge: str
    digest: str


class PanelSession(Struct, frozen=True, gc=False, omit_defaults=True):
    """The panel at a visit: what it is asked about, the votes, and the calls without an answer.

    `weighed` has the numbers that a decision to clear was weighed on.
    """

    digest: str
    quorum: int
    votes: tuple[Vote, ...] = ()
    calls: tuple[JudgeCall, ...] = ()
    weighed: ClearanceDecision | None = None

    @property
    def clear(self) -> int:
        """How many judges clear it."""
        return sum(vote.verdict == "clear" for vote in self.votes)

    @property
    def confidence(self) -> float | None:
        """The lowest confidence of the surest votes that make the quorum; None without one."""
        found = sorted((vote.confidence or 0.0 for vote in self.votes if vote.verdict == "clear"), reverse=True)
        return found[self.quorum - 1] if len(found) >= self.quorum else None


def carried(votes: tuple[Vote, ...]) -> int:
    """How many bytes votes take, about."""
    return sum(json_size(vote.reason) + json_size(vote.label) for vote in votes)
