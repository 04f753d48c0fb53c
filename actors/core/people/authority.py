"""Who may do what: one table of actions, by role and by kind of principal."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PrincipalKind = Literal["person", "service", "agent"]
ByKind = Literal["person", "service", "agent", "autopilot", "deadline"]
Reason = Literal["role", "machine"]

ROLES = ("viewer", "member", "manager", "admin", "owner")
"""Each may do all that the one before it may."""

_RANKS = {role: number for number, role in enumerate(ROLES)}

GATE_ROLES = ROLES[ROLES.index("manager") :]
"""The least roles that a gate may ask for."""

MACHINE_ROLES_MAX = {"agent": "member", "service": "admin"}
"""The highest role of an API key of each kind."""

PEOPLE: frozenset[PrincipalKind] = frozenset({"person"})
ANYBODY: frozenset[PrincipalKind] = frozenset({"person", "service", "agent"})
"""Agents read, start and propose, and do nothing else."""
NO_AGENT = ANYBODY - {"agent"}


class Action(Struct, frozen=True):
    """What the least `role` may do, for some kinds of principal.

    Those of `own` may do it with the runs that they started themselves. `others` is the role that
    doing it to others takes; a machine is told of that.
    """

    name: str
    role: str
    summary: str
    kinds: frozenset[PrincipalKind] = NO_AGENT
    own: frozenset[PrincipalKind] = frozenset()
    others: str | None = None


class Refusal(Struct, frozen=True):
    """Why a principal may not: its kind, or a role below the `required` one."""

    required: str
    reason: Reason


ACTIONS = {
    action.name: action
    for action in (
        Action("read", "viewer", "Read everything of the company but secrets", ANYBODY),
        Action("account", "viewer", "Use one's own account and sessions", PEOPLE),
        Action("leave", "viewer", "Leave the company", PEOPLE, others="admin"),
        Action("notify", "viewer", "Manage one's own notifications; an admin manages those of groups, too", PEOPLE),
        Action("start", "member", "Start runs", ANYBODY),
        Action("deliver", "member", "Send messages to runs", own=frozenset({"agent"})),
        Action("propose", "member", "Propose a decision at a gate", ANYBODY),
        Action("retry", "member", "Retry failed runs"),
        Action("promote", "member", "Make a run that ended in shadow again, live"),
        Action("connect", "member", "Store connectors in shadow, and test them"),
        Action("draft", "member", "Edit drafts of templates"),
        Action("decide", "manager", "Decide at gates that ask for no higher role", PEOPLE),
        Action("delegate", "manager", "Let another member decide as oneself for a time", PEOPLE),
        Action("cancel", "manager", "Cancel runs"),
        Action("go_live", "admin", "Switch a connector live, and change a live one"),
        Action("disconnect", "admin", "Delete connectors"),
        Action("publish", "admin", "Publish and retire templates"),
        Action("migrate", "admin", "Let a run go on by another version of its template"),
        Action("webhooks", "admin", "Manage webhooks"),
        Action("people", "admin", "Manage members, invitations and groups", PEOPLE),
        Action("keys", "admin", "Manage API keys", PEOPLE),
        Action("policy", "admin", "Change the company's policy, calendar and autonomy", PEOPLE),
        Action("retain", "admin", "Put runs under legal hold, redact them, and read their archives", PEOPLE),
        Action("hand_over", "owner", "Hand the company over", PEOPLE),
    )
}


def refusal(role: str, kind: str, action: Action, needed: str | None = None, *, own: bool = False) -> Refusal | None:
    """Why a principal may not do an action, which may need a higher role at one place.

    With `own` it is about a run that they started. What is not known may do nothing.
    """
    required = action.role if needed is None or rank(action.role) > rank(needed) >= 0 else needed
    if kind not in action.kinds and not (own and kind in action.own):
        return Refusal(action.others or required, "machine")
    if not 0 <= rank(required) <= rank(role):
        return Refusal(required, "role" if kind in action.kinds else "machine")
    return None


def rank(role: str) -> int:
    """The place of a role among all, -1 for one that is not known."""
    return _RANKS.get(role, -1)
