"""What a company says about its people and its business days, as it is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

import msgspec

from actors.core.autonomy import CompanyAutonomy
from actors.core.canonical import canonical
from actors.core.people import ActiveDelegation, AgentKey, Person
from daemon.model.events.company import (
    ActionPausesChanged,
    ActionRulesChanged,
    ActionRuleSet,
    AutonomyChanged,
    CalendarChanged,
    CalendarForm,
    CompanyPolicy,
    FunctionBindings,
    FunctionsChanged,
    PolicyChanged,
    SettingChanged,
    StoppedAgents,
)

T = TypeVar("T")

DELEGATIONS_MAX = 1_000


class TooManyDelegations(Exception):
    """The company has as many delegations that have not ended as it may have."""


class NotActive(Exception):
    """The giver or the recipient of a delegation is no active member."""


@dataclass(frozen=True, slots=True)
class StoredSetting(Generic[T]):
    """The value of a company's setting; `number` counts its changes."""

    company_id: str
    value: T
    number: int


@dataclass(frozen=True, slots=True)
class CompanySetting(Generic[T]):
    """A document that each company has once, in a table of its own, with an event for each change.

    `optional` members are stored only where they are set. Daemons keep in memory the values whose
    JSON contains one of `watched`; the rows of these tables say when they were changed.
    """

    table: str
    column: str
    default: T
    changed: Callable[..., SettingChanged]
    optional: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()

    def to_json(self, value: object) -> str:
        members = msgspec.to_builtins(value)
        return canonical({name: one for name, one in members.items() if one is not None or name not in self.optional})

    def from_json(self, text: str) -> T:
        return msgspec.json.decode(text, type=type(self.default))


POLICY = CompanySetting(
    *("policies", "policy", CompanyPolicy(), PolicyChanged),
    optional=("archive_after_days",),
    watched=('"second_factor_from":"', '"passwords":false', '"readers":{"', '"change_gates":{', '"actions":{'),
)
AUTONOMY = CompanySetting(
    "autonomies", "autonomy", CompanyAutonomy(), AutonomyChanged, watched=('"auto_resolve":false',)
)
CALENDAR = CompanySetting("calendars", "calendar", CalendarForm(), CalendarChanged)
ACTION_RULES = CompanySetting("action_rules", "rules", ActionRuleSet(), ActionRulesChanged)
ACTION_PAUSES = CompanySetting(
    *("action_pauses", "pauses", StoppedAgents(), ActionPausesChanged), watched=('"all":{', '"agents":{"')
)
FUNCTIONS = CompanySetting("function_bindings", "bindings", FunctionBindings(), FunctionsChanged)


@dataclass(frozen=True, slots=True)
class StoredDelegation:
    """A delegation from a giver to a recipient, both by member id; an ended one stays."""

    company_id: str
    id: str
    giver: str
    recipient: str
    begins_at: datetime
    ends_at: datetime
    verticals: tuple[str, ...]
    created_at: datetime
    ended_at: datetime | None = None


class CompanyRecord(NamedTuple):
    """The active people of a company by address, and what else gates need.

    `joined` counts all who ever were active; `weight` people, groups and who fills functions.
    `makers` are those of all keys that there ever were, by the names of the keys. `functions` has
    by id who fills them, `rules` the versions of the rules of actions, `agents` the live keys by
    id, of which the first expires when `key_ends`.
    """

    people: Mapping[str, Person]
    delegations: tuple[ActiveDelegation, ...]
    calendar: CalendarForm
    may_be_solo: bool
    joined: int
    weight: int
    autonomy: CompanyAutonomy
    makers: Mapping[str, frozenset[str]]
    functions: FunctionBindings
    rules: Mapping[str, int]
    agents: Mapping[str, AgentKey]
    key_ends: datetime | None
