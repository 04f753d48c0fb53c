"""Events of waiting for time or a message, and of undoing what was done."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from actors.core.messages.events import EventBase

HowEnded = Literal["elapsed", "message", "timeout"]


class WaitBegan(EventBase, frozen=True, kw_only=True, tag="wait_began"):
    """A step waits until a time, for a message, or for a message until a time.

    It is told again where a changed calendar moves the time.
    """

    message: str | None = None
    step_id: str
    until: datetime | None = None
    visit: int
    business_days: bool | UnsetType = UNSET


class WaitEnded(EventBase, frozen=True, kw_only=True, tag="wait_ended"):
    """The time has come, or the message; `payload` is that of the message."""

    how: HowEnded
    payload: Any = None
    step_id: str
    visit: int


class MessageReceived(EventBase, frozen=True, kw_only=True, tag="message_received"):
    """A message was delivered to the run; it is kept until a step takes it."""

    by: str
    name: str
    payload: Any = None
    via: str | None = None


class CompensationBegan(EventBase, frozen=True, kw_only=True, tag="compensation_began"):
    """What the run did is undone in reverse order, and then the run ends with `status`."""

    by: str | None = None
    outcome: str | None = None
    reason: str | None = None
    status: Literal["completed", "cancelled"]
    via: str | None = None
    was: str | None = None
