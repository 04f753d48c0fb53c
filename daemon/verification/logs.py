"""The rows that the events of all logs lead to."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import UNSET, to_builtins

from daemon.contract.base import email_key
from daemon.model import CompanyKey, StoredInvitation, StoredMember, StoredPasswordReset
from daemon.model.actions import McpServerChange, StoredMcpServer
from daemon.model.audit_events import (
    UPGRADE,
    Adopted,
    CompaniesAdopted,
    CompanyKeysWrapped,
    ConnectorChanged,
    GroupChanged,
    InstanceChanged,
    LogEvent,
    LoggedIn,
    LoggedOut,
    McpServerChanged,
    MemberChanged,
    NameChanged,
    PasswordChanged,
    Registered,
    RootsRecorded,
    SecondFactorChanged,
    SecretForm,
    SessionEnded,
    SessionsEnded,
    TemplateKept,
    UserForm,
    WebhookChanged,
    WebhookForm,
)
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
    HoldChanged,
    NotificationChanged,
    NotificationForm,
    PasswordResetRequested,
    PolicyChanged,
    RunArchived,
    RunRedacted,
    SettingChanged,
    SubjectLinked,
    TemplatePublished,
    TemplateRetired,
)
from daemon.model.key_terms import KeyTerms
from daemon.model.own_templates import OwnVersion
from daemon.model.people.companies import (
    ACTION_PAUSES,
    ACTION_RULES,
    AUTONOMY,
    CALENDAR,
    FUNCTIONS,
    POLICY,
    CompanySetting,
    StoredDelegation,
)
from daemon.model.people.credentials import StoredApiKey, Subject
from daemon.model.retention.records import Archived, LegalHold, StoredRedaction
from daemon.stores import codec
from daemon.stores.rows import iso
from daemon.stores.table import Table
from daemon.stores.tables.agents.actions import INSTANCES, SERVER_CHANGES, SERVERS
from daemon.stores.tables.archives import ARCHIVES, HOLDS, REDACTIONS
from daemon.stores.tables.connectors import KEYS
from daemon.stores.tables.people.accounts import PASSWORD_RESETS
from daemon.stores.tables.people.changes import CHANGES
from daemon.stores.tables.people.companies import DELEGATIONS
from daemon.stores.tables.people.credentials import API_KEYS, SUBJECTS
from daemon.stores.tables.people.members import INVITATIONS, MEMBERS
from daemon.stores.tables.people.settings import setting_row
from daemon.stores.tables.templates import OWN_TEMPLATES
from daemon.stores.tables.webhooks import TERMS

UNKNOWN: Final = object()
"""The value of a column that an event of an earlier version does not tell."""

Values = dict[str, Any]
Key = tuple[Any, ...]


def legacy_value(rows: Mapping[Key, Values], key: Key, column: str) -> Any:
    return rows[key].get(column, UNKNOWN) if key in rows else UNKNOWN


def user_values(form: UserForm) -> Values:
    return {
        "id": form.id,
        "email": form.email,
        "name": form.name,
        "password_hash": form.password_digest,
        "created_at": iso(form.created_at),
    }


def secret_values(form: SecretForm) -> Values:
    return {
        "sealed_secret": form.secret_digest,
        "created_at": iso(form.created_at),
        "updated_at": iso(form.updated_at),
        "updated_by": form.updated_by,
    }


def webhook_row(form: WebhookForm | NotificationForm) -> Values:
    """What both webhooks and notifications have."""
    return {
        "url": form.url,
        "events": None if form.events is None else json.dumps(form.events),
        "description": form.description,
        "enabled": form.enabled,
        "reason": form.reason,
    }


T = TypeVar("T")
CLOCKS_APART = timedelta(minutes=1)
"""How far the clocks of daemons may be apart."""


class Fold:
    """Rows by table and key, each with the values of its columns.

    `complete` says that the logs tell everything: rows that no log knows were inserted.
    """

    def __init__(self) -> None:
        self.rows: dict[str, dict[Key, Values]] = defaultdict(dict)
        self.changes: dict[tuple[str, str, int], ConnectorChanged] = {}
        self.roots: list[tuple[str, int, str]] = []
        self.archived: dict[tuple[str, str], Archived] = {}
        self.complete = False
        self._until: dict[str, str] = {}
        self._users: dict[tuple[str, str], str] = {}
        self._sessions: dict[str, list[tuple[str, str, datetime]]] = defaultdict(list)
        self._epochs: dict[str, list[tuple[str, str, datetime]]] = defaultdict(list)
        self._taking: Mapping[type, Callable[[str, Any], None]] = {
            Registered: self._registered,
            Adopted: self._adopted,
            LoggedIn: self._logged_in,
            LoggedOut: self._logged_out,
            SessionEnded: self._session_ended,
            SessionsEnded: self._epoch_begun,
            PasswordChanged: self._epoch_begun,
            PasswordResetRequested: self._reset_requested,
            NameChanged: self._name_changed,
            MemberChanged: self._member_changed,
            GroupChanged: self._group_changed,
            TemplatePublished: self._template_published,
            TemplateRetired: self._template_retired,
            PolicyChanged: partial(self._setting, POLICY),
            HoldChanged: self._hold,
            RunArchived: self._archived,
            ActionRulesChanged: partial(self._setting, ACTION_RULES),
            ActionPausesChanged: partial(self._setting, ACTION_PAUSES),
            AutonomyChanged: partial(self._setting, AUTONOMY),
            RunRedacted: self._redacted,
            CalendarChanged: partial(self._setting, CALENDAR),
            FunctionsChanged: partial(self._setting, FUNCTIONS),
            ChangeRequested: self._change_requested,
            ChangeApproved: self._change_decided,
            ChangeDenied: self._change_decided,
            DelegationMade: self._delegation_made,
            DelegationEnded: self._delegation_ended,
            SubjectLinked: self._subject_linked,
            SecondFactorChanged: self._second_factor,
            ConnectorChanged: self._connector,
            InstanceChanged: self._instance,
            McpServerChanged: self._server,
            WebhookChanged: self._webhook,
            NotificationChanged: self._notification,
            ApiKeyChanged: self._api_key_changed,
            ApiKeyCreated: self._api_key_created,
            ApiKeyDeleted: self._api_key_deleted,
            CompanyKeysWrapped: self._company_keys,
            TemplateKept: self._template_kept,
            CompaniesAdopted: self._companies_adopted,
            RootsRecorded: self._roots_recorded,
        }

    def read_event(self, company_id: str, event: LogEvent) -> None:
        taking = self._taking.get(type(event))
        if taking is not None:
            taking(company_id, event)

    def _row(self, table: Table[T], one: T, **beside: Any) -> None:
        """Expect a row; `beside` is what differs from the struct, or is UNKNOWN."""
        values = {**table.values(one), **beside}
        self.rows[table.name][tuple(values.pop(name) for name in table.key)] = values

    def settle(self) -> None:
        """End the sessions in other companies than that whose log tells of the end."""
        for user_id, epochs in self._epochs.items():
            for company_id, session, began in self._sessions[user_id]:
                values = self.rows["sessions"][session,]
                for home, kept, at in epochs:
                    if home == company_id or session == kept or values["ended_at"] is not None:
                        continue
                    if abs(at - began) < CLOCKS_APART:
                        values["ended_at"] = UNKNOWN
                    elif at > began:
                        values["ended_at"] = iso(at)

    def _registered(self, company_id: str, event: Registered) -> None:
        known = event.password_digest is not None
        user = {
            "id": event.user,
            "email": event.by,
            "name": event.name if known else UNKNOWN,
            "password_hash": event.password_digest if known else UNKNOWN,
            "created_at": iso(event.at),
        }
        self._company(company_id, event.company, iso(event.at))
        self._user(company_id, user)
        self._first_member(company_id, user, event.role)

    def _adopted(self, company_id: str, event: Adopted) -> None:
        self._company(company_id, event.company, iso(event.created_at))
        for one in event.users:
            user = user_values(one)
            self._user(company_id, user)
            self._first_member(company_id, user, one.role)
        for table, forms in (("connectors", event.connectors), ("webhooks", event.webhooks)):
            for form in forms:
                self.rows[table].setdefault((company_id, form.id), {}).update(secret_values(form))

    def _company(self, company_id: str, name: str, created_at: str) -> None:
        self.rows["companies"][company_id,] = {"name": name, "created_at": created_at}

    def _user(self, company_id: str, user: Values) -> None:
        key = email_key(user["email"])
        values = {name: value for name, value in user.items() if name != "id"}
        epoch = {"epoch": 0, "epoch_kept": "", "epoch_until": ""}
        self.rows["users"][company_id, user["id"]] = {**values, "email_key": key, **epoch}
        self._users[company_id, user["email"]] = user["id"]
        self.rows["addresses"][key,] = {"company_id": company_id, "user_id": user["id"]}

    def _first_member(self, company_id: str, user: Values, role: str) -> None:
        """The founder of a company is its first member, under the user's id."""
        at = user["created_at"]
        values: Values = {"user_id": user["id"], "role": role, "status": "active", "joined_at": at, "changed_at": at}
        address = {"email": user["email"], "email_key": email_key(user["email"])}
        self.rows["members"][company_id, user["id"]] = {**values, **address, "invited_by": None, "invited_at": None}

    def _member_changed(self, company_id: str, event: MemberChanged) -> None:
        if event.new_user is not None:
            self._user(company_id, user_values(event.new_user))
        form, at = event.after, iso(event.at)
        who = (company_id, event.member, form.user, form.email, form.role, form.status)
        member = StoredMember(*who, event.at, form.invited_by, form.invited_at, form.joined_at)
        self._row(MEMBERS, member, email_key=email_key(form.email))
        if form.user is not None:
            self._users[company_id, form.email] = form.user
        if event.invitation is not None or form.status != "pending":
            self._end_invitations(company_id, event.member, at)
        if form.status == "removed":
            for key in [key for key in self.rows["group_members"] if (key[0], key[2]) == (company_id, event.member)]:
                del self.rows["group_members"][key]
        if event.invitation is not None:
            token, until = bytes.fromhex(event.invitation.token_hash), event.invitation.expires_at
            self._row(INVITATIONS, StoredInvitation(token, company_id, event.member, event.at, until))

    def _end_invitations(self, company_id: str, member_id: str, at: str) -> None:
        for invitation in self.rows["invitations"].values():
            if (invitation["company_id"], invitation["member_id"]) == (company_id, member_id):
                invitation["ended_at"] = invitation["ended_at"] or at

    def _group_changed(self, company_id: str, event: GroupChanged) -> None:
        members, groups = self.rows["group_members"], self.rows["member_groups"]
        for key in [key for key in members if key[:2] == (company_id, event.group)]:
            del members[key]
        groups.pop((company_id, event.group), None)
        if event.after is not None:
            groups[company_id, event.group] = {"updated_at": iso(event.at), "updated_by": event.by}
            members.update({(company_id, event.group, one): {} for one in event.after})

    def _name_changed(self, company_id: str, event: NameChanged) -> None:
        self.rows["users"].setdefault((company_id, event.user), {})["name"] = event.name

    def _connector(self, company_id: str, event: ConnectorChanged) -> None:
        self.changes[company_id, event.tool_id, event.number] = event
        rows, key = self.rows["connectors"], (company_id, event.tool_id)
        if event.after is None:
            rows.pop(key, None)
            return
        created_at = iso(event.at) if event.before is None else legacy_value(rows, key, "created_at")
        if event.via == UPGRADE:
            created_at = UNKNOWN
        sealed = None if event.secret in ("none", "removed") else event.secret_digest or UNKNOWN
        same = event.unchanged is True
        rows[key] = {
            "connector": codec.encode_connector(event.after),
            "sealed_secret": sealed,
            "created_at": created_at,
            "updated_at": legacy_value(rows, key, "updated_at") if same else iso(event.at),
            "updated_by": legacy_value(rows, key, "updated_by") if same else event.by,
        }

    def _instance(self, company_id: str, event: InstanceChanged) -> None:
        rows, key, form, at = self.rows[INSTANCES.name], (company_id, event.key_id), event.after, iso(event.at)
        rows[key] = {
            "created_at": at,
            "created_by": event.by,
            **rows.get(key, {}),
            "id": event.instance_id,
            **({} if form is None else {"name": form.name}),
            "sealed_url": None if form is None or form.url is None else form.url.encode(),
            "registration_id": None if form is None else form.registration_id,
            "sealed_secret": event.secret_digest,
            "number": event.number,
            "deleted_at": at if form is None else None,
        }

    def _server(self, company_id: str, event: McpServerChanged) -> None:
        before, after = (None if one is None else to_builtins(one) for one in (event.before, event.after))
        key = company_id, event.server
        said: Any = {name: getattr(event, name) for name in ("number", "version", "at", "by", "secret", "via")}
        self._row(SERVER_CHANGES, McpServerChange(*key, **said, before=before, after=after))
        self.rows[SERVERS.name].pop(key, None)
        if after is not None:
            server = StoredMcpServer(
                *key, event.version, sealed_secret=None, **after, changed_at=event.at, changed_by=event.by
            )
            self._row(SERVERS, server, sealed_secret=event.secret_digest)

    def _webhook(self, company_id: str, event: WebhookChanged) -> None:
        row = None
        if event.after is not None:
            kind = "events" if event.after.kind is UNSET else event.after.kind
            row = {**webhook_row(event.after), "kind": kind, "terms": None}
        self._subscribed((company_id, event.webhook_id), event, row)

    def _notification(self, company_id: str, event: NotificationChanged) -> None:
        row = None
        if event.after is not None:
            row = {**webhook_row(event.after), "kind": event.after.kind, "terms": TERMS.encode(event.after.terms)}
        self._subscribed((company_id, event.notification_id), event, row)

    def _subscribed(self, key: Key, event: WebhookChanged | NotificationChanged, row: Values | None) -> None:
        rows, by_service = self.rows["webhooks"], not event.by
        if row is None:
            rows.pop(key, None)
            return
        rows[key] = {
            **row,
            "sealed_secret": event.secret_digest or UNKNOWN,
            "created_at": iso(event.at) if event.before is None else legacy_value(rows, key, "created_at"),
            "updated_at": legacy_value(rows, key, "updated_at") if by_service else iso(event.at),
            "updated_by": legacy_value(rows, key, "updated_by") if by_service else event.by,
        }

    def _api_key_created(self, company_id: str, event: ApiKeyCreated) -> None:
        named = (company_id, event.key_id, event.name, event.kind, event.role, event.prefix)
        key = StoredApiKey(*named, b"", event.at, event.by, event.expires_at, acts_for=event.acts_for is True)
        terms = KeyTerms() if event.terms is UNSET else event.terms
        self._row(API_KEYS, key.under(terms), key_hash=event.digest, last_used_at=UNKNOWN)

    def _api_key_changed(self, company_id: str, event: ApiKeyChanged) -> None:
        blank = StoredApiKey("", "", "", "agent", "", "", b"", event.at, "").under(event.after)
        changed = {name: value for name, value in API_KEYS.values(blank).items() if name in KeyTerms.__struct_fields__}
        self.rows["api_keys"].setdefault((company_id, event.key_id), {}).update(changed)

    def _api_key_deleted(self, company_id: str, event: ApiKeyDeleted) -> None:
        self.rows["api_keys"].setdefault((company_id, event.key_id), {})["deleted_at"] = iso(event.at)

    def _logged_in(self, company_id: str, event: LoggedIn) -> None:
        self._until[event.token] = iso(event.until)
        if event.session:
            user_id = self._users.get((company_id, event.by), "")
            self.rows["sessions"][event.session,] = {
                "company_id": company_id,
                "user_id": user_id or UNKNOWN,
                "kind": event.kind,
                "ended_at": None,
                "expires_at": iso(event.until),
                "via": event.via,
                "amr": "" if event.amr is UNSET else " ".join(event.amr),
                "provider_sid": "" if event.provider_sid is UNSET else event.provider_sid,
            }
            self._sessions[user_id].append((company_id, event.session, event.at))

    def _logged_out(self, _: str, event: LoggedOut) -> None:
        until = self._until.get(event.token, UNKNOWN) if event.until is None else iso(event.until)
        self._ended(event.session or event.token, until, iso(event.at))

    def _session_ended(self, _: str, event: SessionEnded) -> None:
        self._ended(event.session, iso(event.until), iso(event.at))

    def _ended(self, session: str, until: Any, at: str) -> None:
        self.rows["revocations"][session,] = {"expires_at": until}
        if (session,) in self.rows["sessions"]:
            self.rows["sessions"][session,]["ended_at"] = at

    def _epoch_begun(self, company_id: str, event: SessionsEnded | PasswordChanged) -> None:
        """All sessions of a user end but one; the password may be another."""
        epoch: Values = {"epoch": event.epoch, "epoch_kept": event.kept, "epoch_until": iso(event.until)}
        if isinstance(event, PasswordChanged):
            epoch["password_hash"] = event.digest
            for reset in self.rows["password_resets"].values():
                if (reset["company_id"], reset["user_id"]) == (company_id, event.user):
                    reset["ended_at"] = reset["ended_at"] or iso(event.at)
        self.rows["users"].setdefault((company_id, event.user), {}).update(epoch)
        self._epochs[event.user].append((company_id, event.kept, event.at))
        for company, session, _ in self._sessions[event.user]:
            values = self.rows["sessions"][session,]
            if company == company_id and values["ended_at"] is None and session != event.kept:
                values["ended_at"] = iso(event.at)

    def _template_published(self, company_id: str, event: TemplatePublished) -> None:
        version = OwnVersion(
            *(company_id, event.vertical, event.template_version, event.digest, event.title, event.at, event.by),
            drafted_by=None if event.drafted_by is UNSET else event.drafted_by,
            made_by=None if event.made_by is UNSET else event.made_by,
            loosened=event.loosened or (),
        )
        self._row(OWN_TEMPLATES, version)

    def _template_retired(self, company_id: str, event: TemplateRetired) -> None:
        row = self.rows["own_templates"].setdefault((company_id, event.vertical, event.template_version), {})
        row.update(retired_at=iso(event.at), retired_by=event.by)

    def _setting(self, kind: CompanySetting[Any], company_id: str, event: SettingChanged) -> None:
        self.rows[kind.table][company_id,] = setting_row(kind, event)

    def _hold(self, company_id: str, event: HoldChanged) -> None:
        self.rows["run_holds"].pop((company_id, event.run_id), None)
        if event.after is not None:
            self._row(HOLDS, LegalHold(company_id, event.run_id, event.after.reason, event.at, event.by))

    def _archived(self, company_id: str, event: RunArchived) -> None:
        one = Archived(company_id, event.at, event.form)
        self.archived[company_id, event.form.run_id] = one
        self._row(ARCHIVES, one, run_id=event.form.run_id)

    def _redacted(self, company_id: str, event: RunRedacted) -> None:
        key = (company_id, event.run_id, event.number)
        self._row(REDACTIONS, StoredRedaction(*key, event.reason, event.at, event.by, event.pointers))

    def _change_requested(self, company_id: str, event: ChangeRequested) -> None:
        self.rows[CHANGES.name][company_id, event.change] = {
            "act": event.act,
            "what": event.what,
            "digest": event.digest,
            "stands_on": event.stands_on,
            "sealed_secret": None if event.secret_digest is UNSET else event.secret_digest,
            "requested_by": event.by,
            "by_kind": "person" if event.by_kind is UNSET else event.by_kind,
            "by_id": event.by_id,
            "made_by": None if event.made_by is UNSET else event.made_by,
            "via": event.via,
            "requested_at": iso(event.at),
            "expires_at": iso(event.expires_at),
            **dict.fromkeys(("decided_at", "decided_by", "comment")),
            "status": "open",
        }

    def _change_decided(self, company_id: str, event: ChangeApproved | ChangeDenied) -> None:
        status = "approved" if isinstance(event, ChangeApproved) else event.reason
        decided = {"status": status, "decided_at": iso(event.at), "decided_by": event.by, "comment": event.comment}
        self.rows[CHANGES.name].setdefault((company_id, event.change), {}).update(decided)

    def _delegation_made(self, company_id: str, event: DelegationMade) -> None:
        who = (company_id, event.delegation, event.giver, event.to)
        self._row(DELEGATIONS, StoredDelegation(*who, event.begins, event.ends, event.verticals, event.at))

    def _delegation_ended(self, company_id: str, event: DelegationEnded) -> None:
        self.rows["delegations"].setdefault((company_id, event.delegation), {})["ended_at"] = iso(event.at)

    def _second_factor(self, company_id: str, event: SecondFactorChanged) -> None:
        key, rows = (company_id, event.user), self.rows["second_factors"]
        row = {"number": event.number, "sealed_secret": event.secret_digest}
        session = "" if event.session is UNSET else event.session
        if event.change == "begun":
            row |= {"created_at": iso(event.at), "confirmed_at": None, "session_id": session}
        elif event.change == "confirmed":
            row |= {"confirmed_at": iso(event.at), "session_id": session}
        rows[key] = {**rows.get(key, {}), **row}

    def _reset_requested(self, company_id: str, event: PasswordResetRequested) -> None:
        if event.reset:
            reset = StoredPasswordReset(bytes.fromhex(event.reset), company_id, event.user, event.at, event.until)
            self._row(PASSWORD_RESETS, reset, ended_at=None)

    def _subject_linked(self, company_id: str, event: SubjectLinked) -> None:
        self._row(SUBJECTS, Subject(event.issuer, event.subject, company_id, event.user, event.at))

    def _company_keys(self, _: str, event: CompanyKeysWrapped) -> None:
        for company_id, key in event.keys.items():
            self._row(KEYS, CompanyKey(company_id, key.key_id, b"", key.created_at), wrapped=key.digest)

    def _template_kept(self, _: str, event: TemplateKept) -> None:
        self._template(event.digest, event.vertical, event.template_version)

    def _companies_adopted(self, _: str, event: CompaniesAdopted) -> None:
        self.complete = event.last is None
        for one in event.templates:
            self._template(one.digest, one.vertical, one.template_version)

    def _roots_recorded(self, _: str, event: RootsRecorded) -> None:
        self.roots += [(company_id, one.size, one.root) for company_id, one in event.roots.items()]

    def _template(self, digest: str, vertical: str, version: int) -> None:
        self.rows["templates"][digest,] = {"vertical": vertical, "version": version}
