"""The policy of a gate: who decides, how many, by when, and what a verdict has to bring."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from actors.core.people import ROLES, rank
from actors.core.schedule import BusinessCalendar, duration

CommentRule = Literal["optional", "on-denial", "always"]
CodeRule = Literal["optional", "required"]
BatchRule = Literal["allowed", "never"]
FOUR_EYES = ("starter", "connector-author", "template-author")
"""Who may be barred from deciding, beside those who decided at `gate:<step-id>`."""
EARLIER_GATE = "gate:"


class Escalation(Struct, frozen=True):
    """At the deadline people of this role may decide, too; `again` later `then` is taken."""

    escalate: str
    again: str | None = None
    then: str | None = None


class AnchoredDeadline(Struct, frozen=True):
    """A deadline that lies so long before a clock of the run is due."""

    clock: str
    before: str


class GateFunction(Struct, frozen=True, gc=False):
    """The function that a gate names, and whether the company had bound it when the gate opened."""

    id: str
    label: str
    bound: bool


class GatePolicy(Struct, frozen=True, kw_only=True):
    """What a gate asks for. Durations are text of ISO 8601 and count from its opening.

    Who fills the `function` decides alone, whatever role and groups; those count while nobody is
    bound to it. `quorum` people approve or name the same branch,
    `denials` people deny. `groups` and `four_eyes` narrow down who may decide; `on_deadline` is a
    decision or an escalation. A policy that does not say whether it takes verdicts of a `batch`
    leaves that to the tier and the calls of the gate.
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
    deadline: str | AnchoredDeadline | None = None
    remind: tuple[str, ...] = ()
    on_deadline: str | Escalation | None = None
    batch: BatchRule | None = None
    function: str | None = None

    @property
    def asks_people(self) -> bool:
        """Whether more than a role decides about who may close it."""
        return bool(self.function or self.groups or self.four_eyes or self.quorum > 1 or self.denials > 1)

    @property
    def asks(self) -> bool:
        """Whether it asks for more than a role."""
        return self != GatePolicy(role=self.role)

    @property
    def counts_business_days(self) -> bool:
        """Whether it follows the company's calendar."""
        if self.deadline is None and self.on_deadline is None and not self.remind:
            return False
        again = self.on_deadline.again if isinstance(self.on_deadline, Escalation) else None
        deadline = self.deadline.before if isinstance(self.deadline, AnchoredDeadline) else self.deadline
        return any("B" in one for one in (deadline, again, *self.remind) if one is not None)


PLAIN = GatePolicy()
"""The policy of a gate that says nothing."""


class Batch(Struct, frozen=True, gc=False):
    """Verdicts that one request gives at several gates."""

    id: str
    size: int


class Loosened(Struct, frozen=True, omit_defaults=True):
    """Who made a gate ask less than `before`, and may not decide there.

    Before that a breach of a clock opened it to nobody below `breach_role`.
    """

    step_id: str
    by: tuple[str, ...]
    before: GatePolicy
    breach_role: str | None = None


class GateTerms(NamedTuple):
    """What a gate asks, and the least role that a breach of a clock opens it to."""

    policy: GatePolicy
    breach_role: str | None = None


def laxer(before: GateTerms, after: GateTerms | None) -> bool:
    """Whether more people may decide than before, or fewer have to; None is no gate."""
    return after is None or _asks_less(before.policy, after.policy) or lets_in(*after) > lets_in(*before)


def _asks_less(before: GatePolicy, after: GatePolicy) -> bool:
    """Whether a gate asks less from its opening.

    Who fills a function is the company's affair and changes: another function, or none, may let in
    anybody. So may a first one where a role above manager or groups kept people out, since they
    count no more once it is bound. While it is unbound they do, so that they are compared anyhow.
    """
    if rank(after.role) < rank(before.role):
        return True
    if before.function != after.function and (before.function or before.groups or rank(before.role) > rank(PLAIN.role)):
        return True
    wider = bool(before.groups) and not (after.groups and {*after.groups} <= {*before.groups})
    return wider or after.quorum < before.quorum or not {*before.four_eyes} <= {*after.four_eyes}


Asked = tuple[int, frozenset[str], int, frozenset[str], int, str | None]
"""What of a policy makes another laxer than it."""


def approvals_asked(terms: GateTerms) -> Asked:
    policy = terms.policy
    groups, four_eyes = frozenset(policy.groups), frozenset(policy.four_eyes)
    return rank(policy.role), groups, policy.quorum, four_eyes, lets_in(*terms), policy.function


def lets_in(policy: GatePolicy, breach_role: str | None = None) -> int:
    """How low a role an escalation lets in; 0 where it lets in nobody who is kept out."""
    outcome, narrowed = policy.on_deadline, policy.function or policy.groups
    roles = (breach_role, outcome.escalate if isinstance(outcome, Escalation) else None)
    lower = [rank(one) for one in roles if one is not None and (narrowed or rank(one) < rank(policy.role))]
    return len(ROLES) - min(lower, default=len(ROLES))


def inherited(own: GatePolicy, allowing: GatePolicy) -> GatePolicy:
    """The policy of a call's own gate: who may decide is as at the gate that allowed the call."""
    return replace(
        own,
        role=max(own.role, allowing.role, key=rank),
        groups=allowing.groups or own.groups,
        function=allowing.function or own.function,
        quorum=max(own.quorum, allowing.quorum),
        denials=max(own.denials, allowing.denials),
        four_eyes=tuple(dict.fromkeys((*own.four_eyes, *allowing.four_eyes))),
    )


def deadlines(
    policy: GatePolicy, opened_at: datetime, calendar: BusinessCalendar, clock_due_at: datetime | None = None
) -> tuple[datetime | None, tuple[datetime, ...]]:
    """The deadline and the reminders of a gate that opened then.

    `clock_due_at` is when the clock is due that its deadline is anchored to; None while that does
    not go.
    """
    remind_at = tuple(sorted(duration(one).after(opened_at, calendar) for one in policy.remind))
    deadline, due_at = policy.deadline, None
    if isinstance(deadline, str):
        due_at = duration(deadline).after(opened_at, calendar)
    elif deadline is not None and clock_due_at is not None:
        due_at = duration(deadline.before).before(clock_due_at, calendar)
    return due_at, remind_at
