"""Events of a company's log: settings, delegations, proofs, holds, archives, notifications."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from actors.core.actions.deciding import OUTCOME_WITHIN, ActionRule
from actors.core.autonomy import CompanyAutonomy
from actors.core.gate_policy import Loosened
from actors.core.messages import EventBase
from actors.core.people import ByKind, ReaderRule
from actors.core.run import Status
from daemon.model.key_terms import KeyTerms

NotificationKind = Literal["email", "slack", "teams", "webhook"]
NotificationEvent = Literal[
    "gate_opened",
    "gate_reminded",
    "gate_escalated",
    "gate_blocked",
    "gate_decided",
    "clock_warned",
    "clock_breached",
    "run_failed",
    "glass_broken",
    "question_answered",
]
Digest = Literal["PT1H", "P1D"]


class StoredQuietHours(Struct, frozen=True, kw_only=True):
    """Times of the day, such as 22:00; without a time zone they are of the company's calendar."""

    begins: str
    ends: str
    timezone: str | None = None


class NotificationTerms(Struct, frozen=True, kw_only=True):
    """A notification is for one member or for a group; without verticals, of all of them."""

    member_id: str | None = None
    group: str | None = None
    verticals: tuple[str, ...] = ()
    quiet_hours: StoredQuietHours | None = None
    digest: Digest | None = None


class NotificationForm(Struct, frozen=True, kw_only=True):
    """A notification without its secrets: of its URL only the host is shown."""

    description: str | None
    enabled: bool
    events: tuple[str, ...]
    kind: NotificationKind
    reason: str | None
    terms: NotificationTerms
    url: str


class NotificationChanged(EventBase, frozen=True, kw_only=True, tag="notification_changed"):
    """A notification was created, changed, disabled or deleted.

    `by` is empty if the service did it; `secret_digest` is that of the sealed URL and secret.
    """

    after: NotificationForm | None
    before: NotificationForm | None
    by: str
    notification_id: str
    secret_digest: str | None = None
    via: str


class AutonomyChanged(EventBase, frozen=True, kw_only=True, tag="autonomy_changed"):
    """What a company lets be cleared without a human was changed for the `number`th time."""

    after: CompanyAutonomy
    before: CompanyAutonomy
    by: str
    number: int
    via: str


class CalendarForm(Struct, frozen=True, kw_only=True):
    """A time zone by its IANA name, weekdays by name, and holidays as ISO 8601 dates."""

    timezone: str = "UTC"
    weekend: tuple[str, ...] = ("saturday", "sunday")
    holidays: tuple[str, ...] = ()


class CalendarChanged(EventBase, frozen=True, kw_only=True, tag="calendar_changed"):
    """The business days of a company were changed for the `number`th time."""

    after: CalendarForm
    before: CalendarForm
    by: str
    number: int
    via: str


FunctionRequirement = Literal["optional", "required"]
ChangeAct = Literal["publish_laxer", "go_live", "policy_off", "action_rule"]


class ChangeGates(Struct, frozen=True, kw_only=True):
    """Which acts another person approves; those who fill the function do, or else an admin."""

    acts: tuple[ChangeAct, ...]
    function: str | None = None


class OutcomeTerms(Struct, frozen=True, kw_only=True):
    """How long an agent has to tell the outcome of a call that it made by an approval."""

    outcome_within: str = OUTCOME_WITHIN


class CompanyPolicy(Struct, frozen=True, kw_only=True):
    """People of the role `second_factor_from` and of those above it need a second factor.

    With `solo` the only person of a company decides alone. Runs are archived `archive_after_days`
    after their end, if at all. `templates` are those that it uses, in its own order; all others can
    be started, too. Where `passwords` is false they do not count for addresses of a domain that is
    mapped to the company. Where `functions` are required no connector goes live while a function is
    unbound of a template that uses its tool. `readers` has by vertical who reads its runs beside
    those who decide. What `change_gates` names waits for another person. `actions` are terms for
    those of agents. Policies of before have none of the six.
    """

    archive_after_days: int | None = None
    second_factor_from: str | None = None
    solo: bool = True
    templates: tuple[str, ...] | UnsetType = UNSET
    passwords: bool | UnsetType = UNSET
    functions: FunctionRequirement | UnsetType = UNSET
    change_gates: ChangeGates | UnsetType = UNSET
    readers: dict[str, ReaderRule] | UnsetType = UNSET
    actions: OutcomeTerms | UnsetType = UNSET

    @property
    def outcome_within(self) -> str:
        """How long an agent has to tell the outcome of a call."""
        return OUTCOME_WITHIN if self.actions is UNSET else self.actions.outcome_within

    @property
    def narrowed(self) -> dict[str, ReaderRule]:
        """The verticals of which the company says who reads."""
        return {} if self.readers is UNSET else self.readers

    @property
    def takes_passwords(self) -> bool:
        """Whether those whom a provider vouches for may sign in by password, too."""
        return self.passwords is not False

    @property
    def requires_functions(self) -> bool:
        """Whether a connector goes live only once all functions around its tool are bound."""
        return self.functions == "required"

    @property
    def uses(self) -> tuple[str, ...]:
        """The verticals of the templates that the company uses."""
        return () if self.templates is UNSET else self.templates


class PolicyChanged(EventBase, frozen=True, kw_only=True, tag="policy_changed"):
    """What a company asks of its people was changed for the `number`th time."""

    after: CompanyPolicy
    before: CompanyPolicy
    by: str
    number: int
    via: str


class BindingForm(Struct, frozen=True, kw_only=True):
    """Who fills a function: the members of these groups, and these member ids, each once."""

    groups: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


class FunctionBindings(Struct, frozen=True, kw_only=True):
    """Who fills the functions of a company, by id; one that nobody fills is not there."""

    functions: dict[str, BindingForm] = {}

    @property
    def weight(self) -> int:
        """How many groups and members they name."""
        return sum(len(one.groups) + len(one.members) for one in self.functions.values())


class FunctionsChanged(EventBase, frozen=True, kw_only=True, tag="functions_changed"):
    """Who fills the functions of a company was changed for the `number`th time."""

    after: FunctionBindings
    before: FunctionBindings
    by: str
    number: int
    via: str


class ActionRuleSet(Struct, frozen=True, kw_only=True):
    """The rules for the calls of agents, in their order, after `number` changes."""

    rules: tuple[ActionRule, ...] = ()
    number: int = 0


class ActionRulesChanged(EventBase, frozen=True, kw_only=True, tag="action_rules_changed"):
    """The rules for the calls of agents were changed for the `number`th time."""

    after: ActionRuleSet
    before: ActionRuleSet
    by: str
    number: int
    via: str


class Pause(Struct, frozen=True, kw_only=True):
    """Since when agents are stopped, by whom and why."""

    reason: str
    by: str
    at: datetime


class StoppedAgents(Struct, frozen=True, kw_only=True):
    """Whether all agents are stopped, and which of them are, by name."""

    all: Pause | None = None
    agents: dict[str, Pause] = {}


class ActionPausesChanged(EventBase, frozen=True, kw_only=True, tag="action_pauses_changed"):
    """Which agents are stopped was changed for the `number`th time."""

    after: StoppedAgents
    before: StoppedAgents
    by: str
    number: int
    via: str


SettingChanged: TypeAlias = (
    ActionPausesChanged | ActionRulesChanged | AutonomyChanged | CalendarChanged | FunctionsChanged | PolicyChanged
)
"""A setting of a company was changed for the `number`th time."""

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


class PasswordResetRequested(EventBase, frozen=True, kw_only=True, tag="password_reset_requested"):
    """Somebody asked for a link for a new password; `reset` is the SHA-256 of its token.

    For an address without an account the service's own log says so, without user and link.
    """

    by: str
    reset: str = ""
    until: datetime
    user: str = ""
    via: str


class SubjectLinked(EventBase, frozen=True, kw_only=True, tag="subject_linked"):
    """A user is known by the subject of an OpenID provider from now on."""

    by: str
    issuer: str
    subject: str
    user: str
    via: str


class ApiKeyCreated(EventBase, frozen=True, kw_only=True, tag="api_key_created"):
    """An API key was created; `digest` is that of the stored hash.

    One that `acts_for` others may say for whom it starts a run. `terms` are the models and scopes
    that it was made with, if any.
    """

    acts_for: bool | UnsetType = UNSET
    by: str
    digest: str
    expires_at: datetime | None
    key_id: str
    kind: Literal["service", "agent"]
    name: str
    prefix: str
    role: str
    terms: KeyTerms | UnsetType = UNSET
    via: str


class ApiKeyChanged(EventBase, frozen=True, kw_only=True, tag="api_key_changed"):
    """The models that use a key, or its scopes, were changed."""

    after: KeyTerms
    before: KeyTerms
    by: str
    key_id: str
    name: str
    via: str


class ApiKeyDeleted(EventBase, frozen=True, kw_only=True, tag="api_key_deleted"):
    by: str
    key_id: str
    name: str
    via: str


class HoldForm(Struct, frozen=True, kw_only=True):
    """Why a run is held."""

    reason: str


class HoldChanged(EventBase, frozen=True, kw_only=True, tag="hold_changed"):
    """A run was put under legal hold, or released from it."""

    after: HoldForm | None
    before: HoldForm | None
    by: str
    run_id: str
    via: str


class ArchiveForm(Struct, frozen=True, kw_only=True):
    """What stays of an archived run beside its hashes.

    `sha256` is that of the archive's file, `head` the hash of the last event.
    """

    auto_resolve: bool
    business_key: str | None
    bytes: int
    created_at: datetime
    created_by: str
    created_by_kind: ByKind
    ended_at: datetime
    ended_by: str
    ended_by_kind: ByKind
    error_code: str | None
    head: str
    outcome: str | None
    run_id: str
    sha256: str
    status: Status
    template_digest: str
    template_version: int
    updated_at: datetime
    version: int
    vertical: str


class RunArchived(EventBase, frozen=True, kw_only=True, tag="run_archived"):
    """The events of a run went into an archive, so many days after its end."""

    after_days: int
    by: str = ""
    form: ArchiveForm
    via: str = "service"


class RedactedPlace(Struct, frozen=True, kw_only=True):
    """A value of an event: commitments to what stood there at first, and to what stands there."""

    now: str
    path: str
    seq: int
    was: str


class RunRedacted(EventBase, frozen=True, kw_only=True, tag="run_redacted"):
    """Values of a run were redacted: those that were named, and copies of them.

    `left` are the events that hold a copy where none can be redacted.
    """

    by: str
    left: tuple[str, ...] = ()
    number: int
    places: tuple[RedactedPlace, ...]
    pointers: tuple[str, ...]
    reason: str
    run_id: str
    via: str


RetentionEvent = HoldChanged | RunArchived | RunRedacted


class TemplatePublished(EventBase, frozen=True, kw_only=True, tag="template_published"):
    """A version of a template of the company's own can be started from now on.

    `drafted_by` saved the draft, `made_by` made the key that published it; `loosened` are the gates
    that it makes laxer.
    """

    by: str
    digest: str
    drafted_by: str | UnsetType = UNSET
    loosened: tuple[Loosened, ...] | UnsetType = UNSET
    made_by: str | UnsetType = UNSET
    template_version: int
    title: str
    vertical: str
    via: str


class TemplateRetired(EventBase, frozen=True, kw_only=True, tag="template_retired"):
    """A version of a template of the company's own is not started any more."""

    by: str
    digest: str
    template_version: int
    vertical: str
    via: str


class ChangeRequested(EventBase, frozen=True, kw_only=True, tag="change_requested"):
    """A change was asked for that another person approves; `digest` is of exactly what it does.

    `stands_on` is the number that it follows on, `by_id` the member or key that asked.
    """

    act: ChangeAct
    by: str
    by_id: str
    change: str
    digest: str
    expires_at: datetime
    made_by: str | UnsetType = UNSET
    secret_digest: str | UnsetType = UNSET
    stands_on: int
    via: str
    what: str


class ChangeApproved(EventBase, frozen=True, kw_only=True, tag="change_approved"):
    """A change was approved, and done in the name of who asked for it."""

    act: ChangeAct
    asked_by: str
    by: str
    change: str
    comment: str | None = None
    digest: str
    via: str
    what: str


class ChangeDenied(EventBase, frozen=True, kw_only=True, tag="change_denied"):
    """A change was denied, or is stale: what it stood on had changed when it was approved."""

    act: ChangeAct
    asked_by: str
    by: str
    change: str
    comment: str | None = None
    digest: str
    reason: Literal["denied", "stale"]
    via: str
    what: str
