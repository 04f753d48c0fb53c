"""Events of a company's log: who may decide as another member."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from actors.core.messages import EventBase

EndReason = Literal["ended", "removed"]


class DelegationMade(EventBase, frozen=True, kw_only=True, tag="delegation_made"):
    """The member `to` may decide as `giver` for a time; in all verticals if none is named."""

    begins: datetime
    by: str
    delegation: str
    ends: datetime
    giver: str
    to: str
    verticals: tuple[str, ...]
    via: str


class DelegationEnded(EventBase, frozen=True, kw_only=True, tag="delegation_ended"):
    """A delegation was ended before its time, or one of its two members was removed."""

    by: str
    delegation: str
    giver: str
    reason: EndReason
    to: str
    via: str
