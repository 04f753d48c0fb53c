"""Events of open gates: what neither opens one nor is a verdict."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from actors.core.messages.events import AUTOPILOT, EventBase


class GateEvent(EventBase, frozen=True, kw_only=True):
    """An event at a visit of a gate."""

    step_id: str
    visit: int


class VerdictWithdrawn(GateEvent, frozen=True, kw_only=True, tag="verdict_withdrawn"):
    """A verdict counts no more: its giver took it back, or lost the right to decide."""

    by: str = AUTOPILOT
    giver: str
    verdict_id: str | UnsetType = UNSET
    via: str | None = None


class GateReminded(GateEvent, frozen=True, kw_only=True, tag="gate_reminded"):
    """A reminder was due; `left` are those to come."""

    due_at: datetime | UnsetType = UNSET
    left: tuple[datetime, ...] = ()


class GateEscalated(GateEvent, frozen=True, kw_only=True, tag="gate_escalated"):
    """The deadline passed, and people of the role `to` may decide, too.

    `due_at` is when the gate closes by itself, if it does.
    """

    due_at: datetime | UnsetType = UNSET
    to: str


class GateExpired(GateEvent, frozen=True, kw_only=True, tag="gate_expired"):
    """The deadline closed the gate with a decision."""

    by: str
    decision: str


class GateRescheduled(GateEvent, frozen=True, kw_only=True, tag="gate_rescheduled"):
    """The company's calendar changed, and with it when the gate is due."""

    due_at: datetime | UnsetType = UNSET
    remind_at: tuple[datetime, ...] = ()


class GateBlocked(GateEvent, frozen=True, kw_only=True, tag="gate_blocked"):
    """Too few people can close the gate: `needed` are more than `eligible`."""

    eligible: int
    needed: int


class GateUnblocked(GateEvent, frozen=True, kw_only=True, tag="gate_unblocked"):
    """Enough people can close the gate again."""


OpenGateEvent = VerdictWithdrawn | GateReminded | GateEscalated | GateRescheduled | GateBlocked | GateUnblocked
"""Events after which the gate is as open as before."""
