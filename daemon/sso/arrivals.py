"""Who a person is whom the provider names, of which company, and in which groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import structlog
from yarl import URL

from actors.core.people import rank
from daemon.contract.base import address_fault, email_key
from daemon.identity.accounts import NoCompany
from daemon.identity.people import People, changed_after, member_changed
from daemon.identity.sessions import Sessions
from daemon.model import (
    EmailTaken,
    GroupEdit,
    MemberEdit,
    MembershipConflict,
    PeopleChange,
    StoredAccount,
    StoredGroup,
    StoredMember,
    StoredUser,
)
from daemon.model.audit_events import GroupChanged, Logged
from daemon.model.events.company import SubjectLinked
from daemon.model.people.credentials import Arrival, Subject
from daemon.runtime.clock import new_id
from daemon.sso.verification import Identified
from daemon.stores.store import Store

SSO = "sso"
ATTEMPTS_MAX, TOLD_MAX = 5, 20
_log = structlog.get_logger("penstock")


def parse_groups(text: str) -> Mapping[str, str]:
    """Groups by what the claim calls them, from a list like `physicians, nurses=/hospital/nurses`.

    A slash in front does not count: Keycloak names groups by their path.
    """
    pairs = (one.partition("=") for one in filter(None, map(str.strip, text.split(","))))
    return {name.strip().removeprefix("/"): (claim or name).strip().removeprefix("/") for name, _, claim in pairs}


class GroupSync:
    """Adds a person to the groups that the claim names, and takes them out of the others.

    Only groups that the operator lists are changed, and only those that the company has.
    """

    def __init__(self, store: Store, people: People, listed: str, now: Callable[[], datetime]) -> None:
        self._store = store
        self._people = people
        self._listed = parse_groups(listed)
        self._now = now

    def relevant(self, identified: Identified) -> Identified:
        """A person with those groups alone that are listed."""
        found = identified.groups or frozenset()
        listed = frozenset(one for one in found if one.removeprefix("/") in self._listed.values())
        return identified if identified.groups is None else identified._replace(groups=listed)

    async def apply(self, account: StoredAccount, identified: Identified) -> None:
        """Set the groups; none when the token has no claim of groups."""
        if identified.groups is None or not self._listed:
            return
        claimed = {one.removeprefix("/") for one in identified.groups}
        if claimed and claimed.isdisjoint(self._listed.values()):
            who, told = account.user.id, sorted(identified.groups)[:TOLD_MAX]
            _log.warning("sso_groups_unmatched", user=who, claimed=told, listed=sorted(self._listed.values()))
        for name, claim in sorted(self._listed.items()):
            for _ in range(ATTEMPTS_MAX):
                group = await self._group(account.company.id, name)
                if group is None or await self._set(account, group, inside=claim in claimed):
                    break

    async def _group(self, company_id: str, name: str) -> StoredGroup | None:
        return next((one for one in await self._store.groups(company_id) if one.name == name), None)

    async def _set(self, account: StoredAccount, group: StoredGroup, *, inside: bool) -> bool:
        """Write the group if the person stands otherwise; False when it was changed meanwhile."""
        company_id, member_id = account.company.id, account.member.id
        if (member_id in group.members) == inside:
            return True
        others = set(group.members) - {member_id}
        after = tuple(sorted(others | {member_id} if inside else others))
        at, by = self._now(), account.user.email
        event = GroupChanged(at=at, after=after, before=group.members, by=by, group=group.name, via=SSO)
        edit = GroupEdit(company_id, group.name, group.members, after, by, at, Logged(company_id, event))
        return await self._people.edit_group(edit)


DEFAULT_ROLE, HIGHEST_ROLE = "member", "admin"
_DOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*")
_COMPANY = re.compile(r"[0-9a-zA-Z-]{1,64}")


class Mapped(NamedTuple):
    """The company of a domain, and the role of who comes to it."""

    company_id: str
    role: str


def parse_domains(text: str) -> Mapping[str, Mapped]:
    """Parse a list like `example.com=<company id>:member`; ValueError names what is invalid."""
    found: dict[str, Mapped] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        domain, _, rest = item.partition("=")
        company_id, _, role = rest.partition(":")
        domain, role = domain_key(domain.strip()), role.strip() or DEFAULT_ROLE
        if not _DOMAIN.fullmatch(domain) or not _COMPANY.fullmatch(company_id.strip()):
            raise ValueError(f"{item} is no mapping such as example.com=<company id>:member")
        if not 0 <= rank(role) <= rank(HIGHEST_ROLE):
            raise ValueError(f"{role} is no role from viewer to admin")
        found[domain] = Mapped(company_id.strip(), role)
    return found


def domain_of(email: str) -> str:
    return domain_key(email.rpartition("@")[2])


def domain_key(domain: str) -> str:
    """A domain as its A-label, whose letters of other scripts have capitals, too."""
    if domain.isascii():
        return email_key(domain)
    with suppress(ValueError):
        return URL.build(scheme="http", host=domain).raw_host or domain
    return domain


ATTEMPTS_MAX = 5
NO_PASSWORD = ""
NAME_CHARS_MAX = 200


class LogInNeeded(Exception):
    """The account signs in by itself before a provider's subject is linked to it."""

    def __init__(self, account: StoredAccount, identified: Identified) -> None:
        super().__init__()
        self.account = account
        self.identified = identified


class NotVerified(Exception):
    """The provider does not say that the e-mail address is the person's own."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Which e-mail addresses bring a person to a company."""

    domains: Mapping[str, Mapped]
    email_trusted: bool = False

    def company_of(self, email: str) -> str | None:
        """The company in which single sign-on counts for an address."""
        mapped = self.domains.get(domain_of(email))
        return None if mapped is None else mapped.company_id

    def mapped(self, identified: Identified) -> Mapped:
        mapped = self.domains.get(domain_of(identified.email))
        if mapped is None or address_fault(identified.email) is not None:
            raise NoCompany
        if identified.email_verified is False or not (identified.email_verified or self.email_trusted):
            raise NotVerified
        return mapped


class Arrivals:
    """Finds the account of a person, or makes one where the e-mail domain is mapped."""

    def __init__(self, store: Store, sessions: Sessions, trust: Trust, now: Callable[[], datetime]) -> None:
        self._store = store
        self._sessions = sessions
        self._trust = trust
        self._now = now

    @property
    def email_trusted(self) -> bool:
        """Whether addresses count of which the provider does not say that they are verified."""
        return self._trust.email_trusted

    async def account(self, identified: Identified, own: str = "") -> StoredAccount:
        """The account in the company of its domain.

        NoCompany or NotVerified where there is none and none may be made; LogInNeeded for one that
        others could take over by its address: it is linked once `own` says that its user has
        signed in, too.
        """
        for _ in range(ATTEMPTS_MAX):
            try:
                return await self._account(identified, own)
            except (MembershipConflict, EmailTaken):  # another log-in or a change of members came first
                continue
        raise MembershipConflict

    async def present(self, issuer: str, subject: str) -> StoredAccount | None:
        """The account of a known subject in the company that it came to."""
        found = await self._store.subject(issuer, subject)
        return None if found is None else await self._counting(found)

    async def _account(self, identified: Identified, own: str) -> StoredAccount:
        subject = await self._store.subject(identified.issuer, identified.subject)
        if subject is not None:
            return await self._counting(subject) or await self._returned(subject, identified)
        mapped = self._trust.mapped(identified)
        account = await self._store.account_by_email(identified.email)
        if account is None:
            return await self._new(identified, mapped)
        found = await self._store.account(account.user.id, mapped.company_id)
        if own != account.user.id and await self._is_held(account.user, found, mapped, identified.issuer):
            raise LogInNeeded(account, identified)
        if found is None:
            found = await self._member(account.user, mapped)
        link = self._subject(identified, found)
        if not await self._store.link_subject(link, _linked(link, found.user)):
            raise MembershipConflict
        return found

    async def _counting(self, subject: Subject) -> StoredAccount | None:
        """The account of a subject in its company, while its domain is mapped to that."""
        account = await self._store.account(subject.user_id, subject.company_id)
        if account is None or self._trust.company_of(account.user.email) != subject.company_id:
            return None
        return account

    async def _returned(self, subject: Subject, identified: Identified) -> StoredAccount:
        """A person who was removed, by another invitation; NoCompany without one."""
        mapped = self._trust.mapped(identified)
        held = await self._store.account_by_email(identified.email)
        if held is None or (held.user.id, mapped.company_id) != (subject.user_id, subject.company_id):
            raise NoCompany
        return await self._member(held.user, mapped)

    async def _is_held(self, user: StoredUser, found: StoredAccount | None, mapped: Mapped, issuer: str) -> bool:
        """Whether an address alone does not show that an account is the person's.

        It has a password, a higher role than the domain gives, or another subject of the provider.
        """
        if user.password_hash or (found is not None and rank(found.member.role) > rank(mapped.role)):
            return True
        return await self._store.is_linked(user.id, issuer)

    async def _member(self, user: StoredUser, mapped: Mapped) -> StoredAccount:
        edit = await self._edit(user, mapped)
        await self._store.change_people(
            PeopleChange(mapped.company_id, (edit,), (member_changed(edit, user.email, SSO),))
        )
        self._sessions.standings.update({edit.after.id: edit.after.membership_state})
        account = await self._store.account(user.id, mapped.company_id)
        if account is None:
            raise MembershipConflict
        return account

    async def _new(self, identified: Identified, mapped: Mapped) -> StoredAccount:
        company, now = await self._store.company(mapped.company_id), self._now()
        if company is None:
            raise NoCompany
        name = "".join(filter(str.isprintable, identified.name or ""))[:NAME_CHARS_MAX].strip() or None
        user = StoredUser(new_id(), company.id, identified.email, name, NO_PASSWORD, now)
        edit = await self._edit(user, mapped)
        account = StoredAccount(user, company, edit.after)
        subject = self._subject(identified, account)
        logged = (member_changed(edit, user.email, SSO, new_user=user), _linked(subject, user))
        await self._store.arrive(Arrival(account, edit, subject), logged)
        self._sessions.standings.update({edit.after.id: edit.after.membership_state})
        return account

    async def _edit(self, user: StoredUser, mapped: Mapped) -> MemberEdit:
        """The membership: with the role of an invitation that counts, or with that of the domain.

        A member who was removed does not come back by this; an invitation is needed.
        """
        before, now = await self._store.member_by_email(mapped.company_id, user.email), self._now()
        invited = before is not None and await self._store.is_invited(mapped.company_id, before.id, now)
        if not invited and await self._store.was_removed(mapped.company_id, user.email):
            raise NoCompany
        if before is not None:
            if before.status != "pending":
                raise MembershipConflict
            at, role = changed_after(self._now, before), before.role if invited else mapped.role
            joined = replace(before, user_id=user.id, email=user.email, name=user.name, role=role)
            return MemberEdit(before, replace(joined, status="active", joined_at=at, changed_at=at))
        if await self._store.company(mapped.company_id) is None:
            raise NoCompany
        member_id = user.id if user.company_id == mapped.company_id else new_id()
        who = (mapped.company_id, member_id, user.id, user.email, mapped.role)
        return MemberEdit(None, StoredMember(*who, "active", now, joined_at=now, name=user.name))

    def _subject(self, identified: Identified, account: StoredAccount) -> Subject:
        where = (account.company.id, account.user.id)
        return Subject(identified.issuer, identified.subject, *where, self._now())


def _linked(one: Subject, user: StoredUser) -> Logged:
    event = SubjectLinked(
        at=one.created_at, by=user.email, issuer=one.issuer, subject=one.subject, user=user.id, via=SSO
    )
    return Logged(one.company_id, event)
