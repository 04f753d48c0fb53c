"""The policy of a gate: who decides, how many, by when, and what a verdict has to bring."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from actors.core.schedule.calendars import Calendar
from actors.core.schedule.durations import duration

CommentRule = Literal["optional", "on-denial", "always"]
CodeRule = Literal["optional", "required"]
FOUR_EYES = ("starter", "connector-author", "template-author")
"""Who may be barred from deciding, beside those who decided at `gate:<step-id>`."""
EARLIER_GATE = "gate:"


class Escalation(Struct, frozen=True):
    """At the deadline people of this role may decide, too; `again` later `then` is taken."""

    escalate: str
    again: str | None = None
    then: str | None = None


class GatePolicy(Struct, frozen=True, kw_only=True):
    """What a gate asks for. Durations are text of ISO 8601 and count from its opening.

    `quorum` people approve or name the same branch, `denials` people deny. `groups` and `four_eyes`
    narrow down who may decide; `on_deadline` is a decision or an escalation.
    """

    role: str = "manager"
    groups: tuple[str, ...] = ()
    quorum: int = 1
    denials: int = 1
    four_eyes: tuple[str, ...] = ()
    comment: CommentRule = "optional"
    denial_codes: tuple[str, ...] = ()
    code: CodeRule = "optional"
    form: dict[str, Any] | None = None
    deadline: str | None = None
    remind: tuple[str, ...] = ()
    on_deadline: str | Escalation | None = None

    @property
    def asks_people(self) -> bool:
        """Whether more than a role decides about who may close it."""
        return bool(self.groups or self.four_eyes or self.quorum > 1 or self.denials > 1)

    @property
    def asks(self) -> bool:
        """Whether it asks for more than a role."""
        return self != GatePolicy(role=self.role)

    @property
    def counts_business_days(self) -> bool:
        """Whether it follows the company's calendar."""
        again = self.on_deadline.again if isinstance(self.on_deadline, Escalation) else None
        return any("B" in one for one in (self.deadline, again, *self.remind) if one is not None)


PLAIN = GatePolicy()
"""The policy of a gate that says nothing."""


def due(policy: GatePolicy, opened_at: datetime, calendar: Calendar) -> tuple[datetime | None, tuple[datetime, ...]]:
    """The deadline and the reminders of a gate that opened then."""
    remind_at = tuple(sorted(duration(one).after(opened_at, calendar) for one in policy.remind))
    return None if policy.deadline is None else duration(policy.deadline).after(opened_at, calendar), remind_at
