"""Who a company is: its people, their roles and groups, and what each role may do."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable, Collection, Hashable, Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from actors.core.autonomy import CompanyAutonomy
from actors.core.schedule import BusinessCalendar

PrincipalKind = Literal["person", "service", "agent"]
ByKind = Literal["person", "service", "agent", "autopilot", "deadline"]
Reason = Literal["role", "machine"]

ROLES = ("viewer", "member", "manager", "admin", "owner")
"""Each may do all that the one before it may."""

OWNER, ADMIN = "owner", "admin"

_RANKS = {role: number for number, role in enumerate(ROLES)}

GATE_ROLES = ROLES[ROLES.index("manager") :]
"""The least roles that a gate may ask for."""

MACHINE_ROLES_MAX = {"agent": "member", "service": "admin"}
"""The highest role of an API key of each kind."""

GROUP_NAME = r"[a-z0-9][a-z0-9-]{0,62}"

PEOPLE: frozenset[PrincipalKind] = frozenset({"person"})
ANYBODY: frozenset[PrincipalKind] = frozenset({"person", "service", "agent"})
"""Agents read, start and propose, and do nothing else."""
NO_AGENT = ANYBODY - {"agent"}


_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def address_key(text: str) -> str:
    """Equal for spellings of one address: after NFC only the case of ASCII letters may differ."""
    return unicodedata.normalize("NFC", text).translate(_LOWER)


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
        Action("act", "member", "Ask for actions", ANYBODY),
        Action("deliver", "member", "Send messages to runs", own=frozenset({"agent"})),
        Action("propose", "member", "Propose a decision at a gate", ANYBODY),
        Action("retry", "member", "Retry failed runs"),
        Action("promote", "member", "Make a run that ended in shadow again, live"),
        Action("connect", "member", "Store connectors in shadow, and test them"),
        Action("draft", "member", "Edit drafts of templates"),
        Action("decide", "manager", "Decide at gates that ask for no higher role", PEOPLE),
        Action("delegate", "manager", "Let another member decide as oneself for a time", PEOPLE),
        Action("cancel", "manager", "Cancel runs"),
        Action("stop", "manager", "Stop the actions of agents, and let them go on", PEOPLE),
        Action("go_live", "admin", "Switch a connector live, and change a live one"),
        Action("disconnect", "admin", "Delete connectors"),
        Action("publish", "admin", "Publish and retire templates"),
        Action("migrate", "admin", "Let a run go on by another version of its template"),
        Action("webhooks", "admin", "Manage webhooks"),
        Action("people", "admin", "Manage members, invitations and groups", PEOPLE),
        Action("keys", "admin", "Manage API keys", PEOPLE),
        Action("provision", "admin", "Make keys of agents as an AAP provisioner", ANYBODY - {"agent"}),
        Action("policy", "admin", "Change the company's policy, calendar, autonomy and functions", PEOPLE),
        Action("break_glass", "admin", "Read a run that is closed to oneself for an hour, and say why", PEOPLE),
        Action("oversee", "admin", "Read the log of what agents did"),
        Action("approve", "admin", "Approve or deny changes that others asked for", PEOPLE),
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


class Person(Struct, frozen=True, gc=False):
    """An active member; the e-mail address is the name that histories have."""

    member_id: str
    email: str
    role: str
    groups: frozenset[str] = frozenset()


class ActiveDelegation(Struct, frozen=True, gc=False):
    """For a time `to` may decide as `giver`; both are member ids. Without verticals, in all."""

    giver: str
    to: str
    begins: datetime
    ends: datetime
    verticals: tuple[str, ...] = ()

    def covers(self, giver: str, to: str, vertical: str, at: datetime) -> bool:
        """Whether `to` may decide as `giver` at that time."""
        named = not self.verticals or vertical in self.verticals
        return (self.giver, self.to) == (giver, to) and named and self.begins <= at < self.ends


class ReaderRule(Struct, frozen=True):
    """Who may read a run beside those who may decide at one of its gates; each suffices."""

    functions: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    role: str | None = None
    starter: bool = False


class FunctionBinding(Struct, frozen=True):
    """Who fills a function in a company: all of these groups, and these member ids."""

    groups: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()

    @property
    def bound(self) -> bool:
        """Whether it names anybody; else the role of the function stands in."""
        return bool(self.groups or self.members)

    def filled_by(self, person: Person) -> bool:
        """Whether a person fills it."""
        return person.member_id in self.members or not self.groups.isdisjoint(person.groups)


UNBOUND = FunctionBinding()
"""Of a function that nobody fills."""

ENTITLED_MAX, ENTITLED_SHARE = 1_000, 4
"""For so many different rights a company remembers who has them, in all so often its people."""


class AgentKey(Struct, frozen=True):
    """Which models use an API key: one, or per call those that match one of these globs."""

    model: str | None = None
    models: tuple[str, ...] = ()


class Company(Struct, frozen=True):
    """Active members by e-mail address, delegations, calendar, and what may be cleared.

    While it is `solo` it has exactly one active member, who decides alone. `makers` made the keys
    of these names, those that were deleted, too. `functions` has by id who fills them, `rules` the
    versions of the rules of actions, `agents` the live API keys by id.
    """

    people: Mapping[str, Person] = field(default_factory=dict)
    delegations: tuple[ActiveDelegation, ...] = ()
    calendar: BusinessCalendar = BusinessCalendar()
    solo: bool = False
    autonomy: CompanyAutonomy = CompanyAutonomy()
    makers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    functions: Mapping[str, FunctionBinding] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    agents: Mapping[str, AgentKey] = field(default_factory=dict)
    _by_id: dict[str, Person] = field(default_factory=dict)
    _given: dict[str, list[ActiveDelegation]] = field(default_factory=dict)
    _entitled: dict[Hashable, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the people and delegations once; a company is asked thousands of times."""
        given: dict[str, list[ActiveDelegation]] = {}
        for one in self.delegations:
            given.setdefault(one.to, []).append(one)
        force_setattr(self, "_given", given)
        force_setattr(self, "_by_id", {one.member_id: one for one in self.people.values()})
        force_setattr(self, "_entitled", {})

    def made(self, names: Collection[str]) -> frozenset[str]:
        """These names, and who made the keys among them: a key counts as its maker."""
        known = self.makers
        return frozenset().union(names, *(known[name] for name in names if name in known))

    def member(self, member_id: str) -> Person | None:
        """The active member of that id."""
        return self._by_id.get(member_id)

    def binding(self, function: str | None) -> FunctionBinding:
        """Who fills a function; nobody where it is unbound, or there is none."""
        return UNBOUND if function is None else self.functions.get(function, UNBOUND)

    def fills_any(self, person: Person) -> bool:
        """Whether a person fills a function, so that the role does not count at its gates."""
        return any(one.filled_by(person) for one in self.functions.values())

    def givers(self, person: Person, at: datetime, vertical: str | None = None) -> list[Person]:
        """In whose place a person may decide at that time, in a vertical or in any."""
        to = person.member_id
        given = {
            one.giver: None
            for one in self._given.get(to, ())
            if one.covers(one.giver, to, vertical or next(iter(one.verticals), ""), at)
        }
        return [self._by_id[giver] for giver in given if giver in self._by_id]

    def entitled(self, asked: Hashable, has_right: Callable[[Person], bool]) -> frozenset[str]:
        """The addresses of who has a right, looked up once for all gates that ask for the same."""
        found = self._entitled.get(asked)
        if found is None:
            names = sum(map(len, self._entitled.values()))
            if names > ENTITLED_SHARE * len(self.people) or len(self._entitled) >= ENTITLED_MAX:
                self._entitled.clear()
            found = frozenset(email for email, one in self.people.items() if has_right(one))
            self._entitled[asked] = found
        return found

    def person(self, email: str, role: str = "") -> Person:
        """The active member of that address, or somebody who is in no group."""
        return self.people.get(email) or Person("", email, role)


NOBODY = Company()
"""A company of which nothing is known."""
