"""The log of a company: changes made by users outside of runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from actors.core.calls import Connector
from actors.core.messages import EventBase
from daemon.model.chain import digest
from daemon.model.events.company import (
    ActionPausesChanged,
    ActionRulesChanged,
    ApiKeyChanged,
    ApiKeyCreated,
    ApiKeyDeleted,
    AutonomyChanged,
    CalendarChanged,
    ChangeApproved,
    ChangeDenied,
    ChangeRequested,
    DelegationEnded,
    DelegationMade,
    FunctionsChanged,
    NotificationChanged,
    PasswordResetRequested,
    PolicyChanged,
    RetentionEvent,
    SubjectLinked,
    TemplatePublished,
    TemplateRetired,
)

KeyPurpose = Literal["tokens", "secrets", "audit", "commits"]

SecretChange = Literal["none", "set", "changed", "kept", "removed"]

SecondFactorChange = Literal["begun", "confirmed", "recovery_code_used", "removed", "reset"]

SERVICE = ""
"""The id under which the service keeps a log of its own, for what belongs to no company."""

ROOTS = "roots"
"""The stream of the service that records the roots of all companies' trees."""

COMPANY_KEYS = "company_keys"
"""The stream of the service that records the wrapped data keys of companies."""

ADOPTION = "adoption"
"""The stream of the service that says whose log began to cover accounts and secrets when."""

COMMIT_MACS = "commit_macs"
"""The stream of the service that says which commits were given MACs after they were written."""

UPGRADE = "upgrade"
"""How a change came about that an earlier version made and did not log."""

PASSWORD = "password"  # noqa: S105 - a kind of proof, not a password


class Registered(EventBase, frozen=True, kw_only=True, tag="registered"):
    """A company was created with its first user; earlier versions wrote no digest."""

    by: str
    company: str
    name: str | None = None
    password_digest: str | None = None
    role: str
    user: str
    via: str = PASSWORD


class LoggedIn(EventBase, frozen=True, kw_only=True, tag="logged_in"):
    """A user was authenticated by `amr`, and has a session until then; earlier events name less."""

    amr: tuple[str, ...] | UnsetType = UNSET
    by: str
    kind: Literal["", "api", "page"] = ""
    provider_sid: str | UnsetType = UNSET
    session: str = ""
    token: str
    until: datetime
    via: str = PASSWORD


class LoggedOut(EventBase, frozen=True, kw_only=True, tag="logged_out"):
    """A session was ended by its owner; its last token expires at `until`."""

    by: str
    session: str = ""
    token: str
    until: datetime | None = None
    via: str


class SessionEnded(EventBase, frozen=True, kw_only=True, tag="session_ended"):
    """A session was ended by its user, or because an old refresh token of it was used again.

    `until` is when the last token of the session expires.
    """

    by: str
    reason: Literal["ended", "reused"]
    session: str
    until: datetime
    via: str


class SessionsEnded(EventBase, frozen=True, kw_only=True, tag="sessions_ended"):
    """All sessions of a user but `kept` were ended; tokens of earlier epochs count no longer.

    `until` is when the last of these tokens expires.
    """

    by: str
    epoch: int
    kept: str
    until: datetime
    user: str
    via: str


class PasswordChanged(EventBase, frozen=True, kw_only=True, tag="password_changed"):
    """A password was changed, and all sessions of its user but `kept` were ended.

    `digest` is that of the stored hash.
    """

    by: str
    digest: str
    epoch: int
    kept: str
    until: datetime
    user: str
    via: str


class UserForm(Struct, frozen=True, kw_only=True):
    """A user with the digest of the stored password hash."""

    created_at: datetime
    email: str
    id: str
    name: str | None
    password_digest: str
    role: str


class MemberForm(Struct, frozen=True, kw_only=True):
    """A member; `user` is None until the invitation was accepted."""

    email: str
    invited_at: datetime | None
    invited_by: str | None
    joined_at: datetime | None
    role: str
    status: Literal["pending", "active", "removed"]
    user: str | None


class InvitationForm(Struct, frozen=True, kw_only=True):
    """An invitation, by the hash of its token in hex."""

    expires_at: datetime
    token_hash: str


class MemberChanged(EventBase, frozen=True, kw_only=True, tag="member_changed"):
    """A member was invited, joined, was given another role or was removed.

    Open invitations of the member ended; `invitation` is the new one. `new_user` is the user who
    was made when the member joined.
    """

    after: MemberForm
    before: MemberForm | None
    by: str
    invitation: InvitationForm | None = None
    member: str
    new_user: UserForm | None = None
    via: str


class GroupChanged(EventBase, frozen=True, kw_only=True, tag="group_changed"):
    """A group was created, changed or deleted; both sides are ids of members."""

    after: tuple[str, ...] | None
    before: tuple[str, ...] | None
    by: str
    group: str
    via: str


class NameChanged(EventBase, frozen=True, kw_only=True, tag="name_changed"):
    """A user has another display name."""

    by: str
    name: str | None
    user: str
    via: str


class LoginRefused(EventBase, frozen=True, kw_only=True, tag="login_refused"):
    by: str
    reason: str = "invalid_credentials"
    via: str = PASSWORD


class SecondFactorChanged(EventBase, frozen=True, kw_only=True, tag="second_factor_changed"):
    """The second factor of a user was changed; `secret_digest` is that of the sealed secret."""

    by: str
    change: SecondFactorChange
    number: int
    session: str | UnsetType = UNSET
    secret_digest: str | None
    user: str
    via: str


class ConnectorChanged(EventBase, frozen=True, kw_only=True, tag="connector_changed"):
    """A connector was created, changed or deleted; `secret` says what happened to its secret.

    One that was stored as it stood is `unchanged`: its author is who changed it last.
    """

    after: Connector | None
    before: Connector | None
    by: str
    number: int
    secret: SecretChange
    secret_digest: str | None = None
    tool_id: str
    unchanged: bool | UnsetType = UNSET
    version: int
    via: str


class McpServerLogged(Struct, frozen=True, kw_only=True):
    """A server of the Model Context Protocol without its secret."""

    auth_type: str
    reversible: bool
    tools: dict[str, Any]
    trust_annotations: bool
    url: str
    wait_s: int


class McpServerChanged(EventBase, frozen=True, kw_only=True, tag="mcp_server_changed"):
    """A server of agents was created, changed or deleted, and its secret with it."""

    after: McpServerLogged | None
    before: McpServerLogged | None
    by: str
    number: int
    secret: SecretChange
    secret_digest: str | None = None
    server: str
    version: int
    via: str


class InstanceForm(Struct, frozen=True, kw_only=True):
    """An instance of the Agent Approval Protocol without its secret; `url` is as it is kept."""

    name: str
    registration_id: str | None
    url: str | None


class InstanceChanged(EventBase, frozen=True, kw_only=True, tag="instance_changed"):
    """An instance of the Agent Approval Protocol was made, changed or deleted."""

    after: InstanceForm | None
    before: InstanceForm | None
    by: str
    instance_id: str
    key_id: str
    number: int
    secret_digest: str | None = None
    via: str


class WebhookForm(Struct, frozen=True, kw_only=True):
    """A webhook without its secret."""

    description: str | None
    enabled: bool
    events: tuple[str, ...] | None
    reason: str | None
    url: str
    kind: Literal["aap"] | UnsetType = UNSET
    """Of an instance of the Agent Approval Protocol, whose id it has."""


class WebhookChanged(EventBase, frozen=True, kw_only=True, tag="webhook_changed"):
    """A webhook was created, changed, disabled or deleted; `by` is empty if the service did it."""

    after: WebhookForm | None
    before: WebhookForm | None
    by: str
    secret_digest: str | None = None
    via: str
    webhook_id: str


class KeysForm(Struct, frozen=True, kw_only=True):
    """The ids of the keys in a file: the current one, and all."""

    current: str
    known: tuple[str, ...]


class KeysChanged(EventBase, frozen=True, kw_only=True, tag="keys_changed"):
    """Key files were created, rotated or pruned; `by` is empty, as a file does not tell."""

    after: KeysForm
    before: KeysForm | None
    by: str
    purpose: KeyPurpose
    via: str


class CommitsAdopted(EventBase, frozen=True, kw_only=True, tag="commits_adopted"):
    """So many commits without MACs were given theirs; `until` is the position of the last one."""

    by: str = ""
    key: str
    number: int
    until: int
    via: str


class WrappedKeyForm(Struct, frozen=True, kw_only=True):
    """The key of a company: the id of the key that wraps it, and the digest of the wrapped one."""

    created_at: datetime
    digest: str
    key_id: str


class CompanyKeysWrapped(EventBase, frozen=True, kw_only=True, tag="company_keys_wrapped"):
    """Data keys of companies were created, or wrapped by another key."""

    by: str = ""
    keys: dict[str, WrappedKeyForm]
    via: str


class HistoryRewound(EventBase, frozen=True, kw_only=True, tag="history_rewound"):
    """The database failed over and lost so many commits that one daemon had acknowledged.

    `first` is the position of the first of them in the company.
    """

    by: str = ""
    commits: int
    first: int
    via: str


class TemplateKept(EventBase, frozen=True, kw_only=True, tag="template_kept"):
    """A version of a template was loaded for the first time."""

    by: str = ""
    digest: str
    template_version: int
    vertical: str
    via: str


class SecretForm(Struct, frozen=True, kw_only=True):
    """What the earlier log did not say of a connector or webhook."""

    created_at: datetime
    id: str
    secret_digest: str | None
    updated_at: datetime
    updated_by: str


class Adopted(EventBase, frozen=True, kw_only=True, tag="adopted"):
    """What stood for a company when its log began to cover accounts and secrets."""

    by: str = ""
    company: str
    connectors: tuple[SecretForm, ...]
    created_at: datetime
    users: tuple[UserForm, ...]
    via: str = UPGRADE
    webhooks: tuple[SecretForm, ...]


class TemplateForm(Struct, frozen=True, kw_only=True):
    digest: str
    template_version: int
    vertical: str


class CompaniesAdopted(EventBase, frozen=True, kw_only=True, tag="companies_adopted"):
    """These companies were there when the logs began to cover everything.

    Those behind `last` follow; None when all are done.
    """

    by: str = ""
    companies: tuple[str, ...]
    last: str | None
    templates: tuple[TemplateForm, ...]
    via: str = UPGRADE


class RootForm(Struct, frozen=True, kw_only=True):
    """A checkpoint of a company: how many commits it covers, and the root of their tree."""

    root: str
    size: int


class RootsRecorded(EventBase, frozen=True, kw_only=True, tag="roots_recorded"):
    """The newest checkpoints of companies."""

    by: str = ""
    roots: dict[str, RootForm]
    via: str


LogEvent = (
    Registered
    | LoggedIn
    | LoggedOut
    | LoginRefused
    | SessionEnded
    | SessionsEnded
    | PasswordChanged
    | PasswordResetRequested
    | MemberChanged
    | GroupChanged
    | NameChanged
    | SubjectLinked
    | TemplatePublished
    | TemplateRetired
    | PolicyChanged
    | RetentionEvent
    | ActionPausesChanged
    | ActionRulesChanged
    | AutonomyChanged
    | CalendarChanged
    | FunctionsChanged
    | ChangeRequested
    | ChangeApproved
    | ChangeDenied
    | DelegationMade
    | DelegationEnded
    | SecondFactorChanged
    | ConnectorChanged
    | McpServerChanged
    | InstanceChanged
    | WebhookChanged
    | NotificationChanged
    | ApiKeyChanged
    | ApiKeyCreated
    | ApiKeyDeleted
    | KeysChanged
    | CompanyKeysWrapped
    | TemplateKept
    | Adopted
    | CompaniesAdopted
    | RootsRecorded
    | CommitsAdopted
    | HistoryRewound
)


def password_digest(password_hash: str) -> str:
    """What the log says of a stored password hash."""
    return digest(password_hash.encode())


class Caller(NamedTuple):
    """Who asks for a change, with the role that allows it."""

    member_id: str
    role: str


class Logged(Struct, frozen=True):
    """An event to append to a company's log, or to another stream of the service.

    With a `caller` only while that is the caller's role: CallerChanged otherwise.
    """

    company_id: str
    event: LogEvent
    stream: str | None = None
    caller: Caller | None = None
